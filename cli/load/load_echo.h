// A raw TCP echo on loopback: what the machine and its kernel allow, as the baseline of a latency.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/latency.h"

namespace tributary::cli {

// A child process that sends back what it receives, with one thread on epoll. It ends with its parent.
class EchoPeer {
 public:
  // Forks: call before any thread is started.
  static absl::StatusOr<std::unique_ptr<EchoPeer>> Fork();
  ~EchoPeer();

  struct Load {
    std::size_t connections = 4;
    std::size_t message_bytes = 0;
    double rate_hz = 2000;
  };
  // For the given time, or until stop is requested. At each tick one thread stamps the time, writes one
  // message on each connection and reads the echoes through epoll. Appends to `message` the time from the
  // stamp to each echo, and to `burst` that to the last echo of the tick.
  absl::Status Run(const Load& load, std::chrono::nanoseconds duration, const std::stop_token& stop,
                   runtime::LatencyHistogram& message, runtime::LatencyHistogram& burst) const;

 private:
  EchoPeer(int pid, std::uint16_t port) : pid_(pid), port_(port) {}
  const int pid_;
  const std::uint16_t port_;
};

}  // namespace tributary::cli
