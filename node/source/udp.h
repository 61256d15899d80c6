// Takes a panel's samples over UDP (docs/udp-datagram.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "node/source/source.h"
#include "node/source/udp_assembler.h"

namespace tributary::source {

struct UdpSourceOptions {
  std::string panel = {};             // its name, for the log
  std::string address = "127.0.0.1";  // to listen on: a numeric IPv4 or IPv6 address
  std::uint16_t port = 0;             // 0: any; see UdpAccount::port
  std::string front_end = {};         // numeric address of the only accepted sender; empty: any
  UdpAssemblerOptions assembler = {};
};

// Receives on a socket of its own and assembles. If the panel's thread is too slow, the kernel's socket
// buffer (4 MiB requested, about 30 slots of 16 users) overflows, and the kernel reports its drops. The log
// says where the source listens and, every ten seconds, what it could not use. `clock` outlives the source.
// Errors: InvalidArgument for an address that is not numeric, Unavailable if it cannot be bound.
absl::StatusOr<std::unique_ptr<Source>> CreateUdp(const UdpSourceOptions& options,
                                                  const runtime::Clock& clock);

}  // namespace tributary::source
