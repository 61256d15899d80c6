// How much of one connection is read before others have their turn.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tributary::server {

// gRPC reads a connection until nothing is left, and parses as much at once as has come meanwhile: a peer
// whose bytes cost much has the thread to itself until it is cut. So each connection gives way after some
// bytes, and goes on behind those that wait. One thread at a time.
class ReadTurn {
 public:
  // A handshake and the first call's headers need no more than kBeginning; a byte may cost 2 µs there (a call
  // without a path has 15).
  static constexpr std::uint64_t kBeginning = 64 << 10;
  static constexpr std::size_t kLeast = 1 << 10, kUsual = 2 << 10, kMost = 16 << 10;
  // The turn of a connection of which `before` bytes have been read. A message's bytes cost little, and most
  // bytes are a message's. Panels catch up: what has come for them while others were read is read at once.
  static std::size_t Bytes(std::uint64_t before, std::size_t message_bytes_left, bool panels) {
    return std::clamp(message_bytes_left, panels ? kMost : before < kBeginning ? kLeast : kUsual, kMost);
  }

  // Whether the connection has had its turn. Its next event is then on its way: the reader has to say EAGAIN,
  // upon which gRPC waits for that.
  bool IsOver(int fd);
  // The connection's turn: reads on, so many bytes at most. gRPC may have less room for them, and read again.
  ssize_t Read(int fd, msghdr* message, int flags, std::size_t most);

 private:
  static constexpr int kNone = -1;
  int fd_ = kNone;        // read last, if it may have more
  std::size_t left_ = 0;  // of its turn, in bytes
  int refusals_ = 0;
};

}  // namespace tributary::server
