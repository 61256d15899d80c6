// Takes a panel's samples over UDP (docs/udp-datagram.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "node/source/source.h"
#include "node/source/udp_account.h"
#include "node/source/udp_assembler.h"
#include "node/source/udp_report.h"

struct msghdr;

namespace tributary::source {

struct UdpSourceOptions {
  std::string panel = {};             // its name, for the log
  std::string address = "127.0.0.1";  // to listen on: a numeric IPv4 or IPv6 address
  std::uint16_t port = 0;             // 0: any; see UdpSource::port
  std::string front_end = {};         // numeric address of the only accepted sender; empty: any
  UdpAssemblerOptions assembler = {};
};

// Owns the socket and the assembler. Called by one thread. If that thread is too slow, the kernel's socket
// buffer (4 MiB requested, about 30 slots of 16 users) overflows, and the kernel reports its drops. The log
// says where the source listens and, every ten seconds, what it could not use.
class UdpSource final : public Source {
 public:
  // `clock` outlives the source. Errors: InvalidArgument for an address that is not numeric, Unavailable if
  // it cannot be bound.
  static absl::StatusOr<std::unique_ptr<UdpSource>> Create(const UdpSourceOptions& options,
                                                           const runtime::Clock& clock);
  ~UdpSource() override;

  UdpSource(const UdpSource&) = delete;
  UdpSource& operator=(const UdpSource&) = delete;

  std::uint16_t port() const { return account_->port(); }

  std::size_t width() const override { return options_.assembler.width; }
  absl::Status Next(std::stop_token stop, SensorFrame& frame) override;
  std::uint64_t missed_frames() const override { return assembler_.losses().slots; }
  std::shared_ptr<const UdpAccount> udp_account() const override { return account_; }

 private:
  UdpSource(const UdpSourceOptions& options, const runtime::Clock& clock);
  absl::Status Open();
  // Reads what has arrived, until a frame is ready.
  absl::Status Receive();
  void Take(std::span<const std::byte> datagram, const msghdr& message);
  void CountKernelDrops(const msghdr& message);
  void SayWhatWasLost();
  int WaitMs() const;

  const UdpSourceOptions options_;
  const runtime::Clock& clock_;
  UdpAssembler assembler_;
  int socket_ = -1;
  int wake_ = -1;                        // eventfd
  std::shared_ptr<UdpAccount> account_;  // from Open on
  UdpReport report_;
  std::uint32_t kernel_drops_ = 0;  // as the kernel counts them: since the socket's start, modulo 2^32
  std::vector<std::byte> datagram_;
};

}  // namespace tributary::source
