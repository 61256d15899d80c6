// Network addresses in configurations. This is the one definition of a valid address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::runtime {

struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
};

// Parses "host:port" or "[IPv6 address]:port". A host is a numeric address or a name; nothing is resolved.
// Errors: InvalidArgument, naming the address and what is expected.
absl::StatusOr<HostPort> ParseHostPort(std::string_view address);

// How an address is used. Port 0 lets a listener take any free port; nobody can connect to port 0.
enum class AddressUse {
  kDial,        // gRPC, also "unix:path"
  kListen,      // gRPC, also "unix:path"
  kListenHttp,  // no unix socket
};
absl::Status CheckAddress(std::string_view address, AddressUse use);

// Whether only this machine can reach the address: localhost, 127.0.0.0/8, ::1, or a unix socket.
bool IsLoopback(std::string_view address);

// A numeric IPv4 or IPv6 address in the form that the system writes. Errors: InvalidArgument.
absl::StatusOr<std::string> NormalIpAddress(std::string_view address);

}  // namespace tributary::runtime
