#include "aggregator/server/read_turn.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "aggregator/server/socket.h"

namespace tributary::server {
namespace {

// gRPC asks twice before it waits: for the rest of what it has room for, and for what comes next.
constexpr int kRefusals = 2;

// Makes room for so many bytes at most while it lives: in the first of the message's pieces.
class Room {
 public:
  Room(msghdr& message, std::size_t most) : message_(message), pieces_(message.msg_iovlen) {
    std::size_t used = 0;
    while (used < pieces_ && bytes_ < most) bytes_ += message.msg_iov[used++].iov_len;
    if (bytes_ < most) return;
    over_ = bytes_ - most;
    bytes_ = most;
    last_ = &message.msg_iov[used - 1];
    last_->iov_len -= over_;
    message.msg_iovlen = used;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    message_.msg_iovlen = pieces_;
    if (last_ != nullptr) last_->iov_len += over_;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  msghdr& message_;
  const std::size_t pieces_;
  std::size_t bytes_ = 0;
  std::size_t over_ = 0;
  iovec* last_ = nullptr;
};

}  // namespace

bool ReadTurn::IsOver(int fd) {
  if (fd != fd_ || left_ > 0 || refusals_ == kRefusals || !HasBytes(fd) || !IsTcp(fd) || !CauseAnEvent(fd))
    return false;
  ++refusals_;
  return true;
}

ssize_t ReadTurn::Read(int fd, msghdr* message, int flags, std::size_t most) {
  const std::size_t turn = fd == fd_ && left_ > 0 ? left_ : most;
  const Room room(*message, turn);
  const ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
  fd_ = got > 0 && static_cast<std::size_t>(got) == room.bytes() ? fd : kNone;
  left_ = turn - room.bytes();
  refusals_ = 0;
  return got;
}

}  // namespace tributary::server
