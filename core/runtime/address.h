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

// Whether it has the form of a host name. A name whose last label is a number has not: it would look like a
// numeric address (RFC 3696, section 2), as the mistyped 999.1.1.1 does.
bool IsHostName(std::string_view host);

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

// The path in "unix:path"; empty for other addresses.
std::string UnixPathOf(std::string_view address);

// Why nobody can listen at an address, by the errno of bind(2) or listen(2), and what to do.
std::string WhyNotListen(int error);

// Whether only this machine can reach the address: localhost, 127.0.0.0/8, ::1, or a unix socket.
bool IsLoopback(std::string_view address);

// Whether who dials `dialled` on this machine certainly reaches the listener at `listener`: the same unix
// socket; or the same port of the same host, or the loopback of a listener on the loopback or on every
// interface.
bool Reaches(std::string_view dialled, std::string_view listener);

// A numeric IPv4 or IPv6 address in the form that the system writes. Errors: InvalidArgument.
absl::StatusOr<std::string> NormalIpAddress(std::string_view address);

}  // namespace tributary::runtime
