// A TCP connection that sends any bytes.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "core/runtime/descriptor.h"

namespace tributary::testing {

class RawSocket {
 public:
  // Connects to the loopback, from 127.0.0.`host` and that port (0: any); open() is false if that fails.
  explicit RawSocket(std::uint16_t port, std::uint32_t host = 2, std::uint16_t from_port = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Who is not answered tries again at once.
    HoldUpFor({0, 20'000});
    // Not the address of the honest.
    const int again = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_port = htons(from_port);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
    bind(fd_.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fd_.Close();
    // A server that does not read must not hold the attacker up for longer.
    HoldUpFor({1, 0});
  }

  bool open() const { return fd_.open(); }
  int fd() const { return fd_.get(); }
  // Gives the descriptor up, for somebody who does not want to wait on it.
  int ReleaseNonBlocking() {
    fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
    return fd_.Release();
  }

  // The connection is reset when it ends.
  void EndWithReset() const {
    const linger at_once{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }

  // Sends all, and reads nothing. False: the connection is over.
  bool SendOnly(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Sends all, and reads what has come, so that the server does not wait for this side. False: the connection
  // is over.
  bool Send(std::string_view bytes) {
    if (!SendOnly(bytes)) return false;
    for (;;) {
      const ssize_t got = recv(fd_.get(), ignored_.data(), ignored_.size(), MSG_DONTWAIT);
      if (got == 0) return false;
      if (got < 0) return true;
    }
  }

 private:
  void HoldUpFor(const timeval& limit) {
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }

  runtime::Descriptor fd_;
  std::array<char, 16'384> ignored_;
};

}  // namespace tributary::testing
