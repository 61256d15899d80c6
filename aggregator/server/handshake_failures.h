// TLS handshakes that failed on the gRPC port.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::server {

enum class HandshakeFault : std::uint8_t {
  kRefused,  // a certificate that does not fit, no certificate, no TLS
  kTimeout,  // not complete in time
  kClosed,   // the peer hung up
};
inline constexpr std::size_t kHandshakeFaults = 3;

constexpr std::string_view HandshakeFaultName(HandshakeFault fault) {
  constexpr std::array<std::string_view, kHandshakeFaults> kNames = {"refused", "timeout", "closed"};
  return kNames[static_cast<std::size_t>(fault)];
}

using HandshakeCounts = std::array<std::atomic<std::uint64_t>, kHandshakeFaults>;

// gRPC tells of a failed handshake only in its log, at its debug level. This reads it: counts the failures of
// this process in the result and logs them at a bounded rate. GRPC_VERBOSITY in the environment turns it off,
// since gRPC then writes its log itself. Any thread; the result lives as long as the process.
const HandshakeCounts& CountHandshakeFailures();

}  // namespace tributary::server
