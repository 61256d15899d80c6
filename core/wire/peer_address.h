// Where a peer of a gRPC call is, and whose share of places it uses by that.
#pragma once

#include <string>
#include <string_view>

namespace tributary::wire {

// The address of all unix sockets.
inline constexpr std::string_view kUnixAddress = "unix";

// "192.0.2.7:5000" or "2001:db8::1:5000" of gRPC's "ipv4:192.0.2.7:5000" or "ipv6:%5B2001:db8::1%5D:5000".
// Without the scope of a link-local address.
std::string PeerOf(std::string_view grpc_peer);

// Whose share of places a peer uses: its IPv4 address, the /64 network of an IPv6 address, which one host
// commands, or "unix".
std::string AddressOf(std::string_view peer);

}  // namespace tributary::wire
