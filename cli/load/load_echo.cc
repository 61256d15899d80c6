#include "cli/load/load_echo.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/runtime/clock.h"
#include "core/runtime/descriptor.h"

namespace tributary::cli {
namespace {

using runtime::Descriptor;

absl::Status Failed(const char* what) {
  return absl::UnavailableError(fmt::format("echo: {}: {}", what, std::strerror(errno)));
}

void Watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void NoDelay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool WriteAll(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, bytes, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

[[noreturn]] void Serve(int listener) {
  const int epoll = epoll_create1(0);
  Watch(epoll, listener);
  std::array<epoll_event, 16> events;
  std::array<char, 65536> buffer;
  while (true) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        const int accepted = accept(listener, nullptr, nullptr);
        NoDelay(accepted);
        Watch(epoll, accepted);
        continue;
      }
      const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0 || !WriteAll(fd, buffer.data(), static_cast<std::size_t>(got))) close(fd);
    }
  }
}

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EchoPeer>> EchoPeer::Fork() {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), 64) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Failed("cannot listen");
  }
  const int pid = fork();
  if (pid < 0) return Failed("cannot fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Serve(listener.get());
  }
  return std::unique_ptr<EchoPeer>(new EchoPeer(pid, ntohs(address.sin_port)));
}

EchoPeer::~EchoPeer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::Status EchoPeer::Run(const Load& load, std::chrono::nanoseconds duration, const std::stop_token& stop,
                           runtime::LatencyHistogram& message, runtime::LatencyHistogram& burst) const {
  const Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  std::vector<Descriptor> sockets;
  for (std::size_t i = 0; i < load.connections; ++i) {
    sockets.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Loopback(port_);
    if (connect(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return Failed("cannot connect");
    }
    NoDelay(sockets.back().get());
    Watch(epoll.get(), sockets.back().get());
  }
  const Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const auto period_ns = static_cast<long>(1e9 / load.rate_hz);
  const itimerspec period{{0, period_ns}, {0, period_ns}};
  timerfd_settime(timer.get(), 0, &period, nullptr);
  Watch(epoll.get(), timer.get());

  const runtime::SystemClock clock;
  const std::string bytes(load.message_bytes, 'x');
  std::vector<char> incoming(65536);
  std::vector<std::pair<int, std::size_t>> missing;  // descriptor, bytes that it still owes
  std::int64_t stamp_ns = 0;
  const std::int64_t end_ns = clock.SteadyNs() + duration.count();
  std::array<epoll_event, 16> events;
  while ((clock.SteadyNs() < end_ns && !stop.stop_requested()) || !missing.empty()) {
    const int ready = epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), 1000);
    if (ready <= 0) return Failed("no echo within a second");
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == timer.get()) {
        std::uint64_t ticks = 0;
        if (read(fd, &ticks, sizeof ticks) < 0 || !missing.empty()) continue;
        stamp_ns = clock.SteadyNs();
        for (const Descriptor& each : sockets) {
          missing.emplace_back(each.get(), bytes.size());
          if (!WriteAll(each.get(), bytes.data(), bytes.size())) return Failed("cannot write");
        }
        continue;
      }
      const ssize_t got = recv(fd, incoming.data(), incoming.size(), 0);
      if (got <= 0) return Failed("cannot read");
      for (auto& [from, left] : missing) {
        if (from != fd) continue;
        left -= static_cast<std::size_t>(got);
        if (left == 0) message.Add(clock.SteadyNs() - stamp_ns);
      }
      std::erase_if(missing, [](const auto& each) { return each.second == 0; });
      if (missing.empty()) burst.Add(clock.SteadyNs() - stamp_ns);
    }
  }
  return absl::OkStatus();
}

}  // namespace tributary::cli
