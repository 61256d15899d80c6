#include "aggregator/server/waiting_room.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/server/first_words.h"

namespace tributary::server {

WaitingRoom::WaitingRoom() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void WaitingRoom::Enter(runtime::Descriptor connection, std::uint64_t inode, std::int64_t now_ns) {
  const int fd = connection.get();
  epoll_event event{};
  // At each arrival of bytes, once: some of them may stay unread for long.
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  const auto entered = guests_.insert_or_assign(
      fd, Guest{.connection = std::move(connection), .inode = inode, .since_ns = now_ns});
  Judge(entered.first, false);
}

void WaitingRoom::Listen() {
  std::array<epoll_event, 64> events;
  const int heard = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < heard; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto guest = guests_.find(event.data.fd);
    if (guest == guests_.end() || guest->second.ready) continue;
    Judge(guest, (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
  }
}

void WaitingRoom::Judge(Guests::iterator guest, bool hung_up) {
  std::array<char, kMostBeginning> bytes;
  const ssize_t got = recv(guest->first, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  const Socket socket{guest->first, guest->second.inode};
  const std::string_view beginning(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (Unread(socket) >= BytesOfFirstWords(beginning)) {
    guest->second.ready = true;
    ready_.push_back(socket);
  } else if (hung_up || got == 0) {
    guests_.erase(guest);
  }
}

int WaitingRoom::Next() {
  while (!ready_.empty()) {
    const Socket socket = ready_.front();
    ready_.pop_front();
    const auto guest = guests_.find(socket.fd);
    if (guest == guests_.end() || guest->second.inode != socket.inode) continue;
    const int fd = guest->second.connection.Release();
    guests_.erase(guest);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    return fd;
  }
  return -1;
}

bool WaitingRoom::Close(Socket socket) {
  const auto guest = guests_.find(socket.fd);
  if (guest == guests_.end() || guest->second.inode != socket.inode) return false;
  guests_.erase(guest);
  return true;
}

std::vector<std::string> WaitingRoom::CloseOlderThan(std::int64_t then_ns) {
  std::vector<std::string> peers;
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const auto next = std::next(guest);
    if (!guest->second.ready && guest->second.since_ns < then_ns) {
      if (std::string peer = PeerOfSocket(guest->first); !peer.empty()) peers.push_back(std::move(peer));
      guests_.erase(guest);
    }
    guest = next;
  }
  return peers;
}

}  // namespace tributary::server
