#include "tests/faults/node_cuttable_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace tributary::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

CuttableLink::CuttableLink(int port) : target_(port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no port for the link");
  }
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

CuttableLink::~CuttableLink() {
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  close(listener_);
  for (Connection& connection : connections_) {
    shutdown(connection.client, SHUT_RDWR);
    shutdown(connection.server, SHUT_RDWR);
    connection.up.join();
    connection.down.join();
    close(connection.client);
    close(connection.server);
  }
}

void CuttableLink::Cut() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.cut = true;
}

void CuttableLink::Accept() {
  for (;;) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(target_);
    if (connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      close(client);
      close(server);
      continue;
    }
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_.emplace_back();
    connection.client = client;
    connection.server = server;
    connection.up =
        std::thread([&connection] { Relay(connection.client, connection.server, connection.cut); });
    connection.down =
        std::thread([&connection] { Relay(connection.server, connection.client, connection.cut); });
  }
}

void CuttableLink::Relay(int from, int to, const std::atomic<bool>& cut) {
  char buffer[16384];
  for (ssize_t size; (size = recv(from, buffer, sizeof buffer, 0)) > 0;) {
    if (cut) continue;  // swallowed
    if (send(to, buffer, static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) break;
  }
  if (!cut) shutdown(to, SHUT_RDWR);
}

}  // namespace tributary::testing
