#include "core/wire/peer_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_replace.h"

namespace tributary::wire {

std::string PeerOf(std::string_view grpc_peer) {
  const std::size_t scheme = grpc_peer.find(':');
  if (scheme == std::string_view::npos || grpc_peer.starts_with(kUnixAddress)) {
    return std::string(kUnixAddress);
  }
  std::string peer = absl::StrReplaceAll(std::string(grpc_peer.substr(scheme + 1)),
                                         {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  const std::size_t scope = peer.find('%'), port = peer.rfind(':');
  if (scope < port && port != std::string::npos) peer.erase(scope, port - scope);
  return peer;
}

std::string AddressOf(std::string_view peer) {
  std::string host(peer.substr(0, peer.rfind(':')));
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return host;
  std::fill(std::begin(v6.s6_addr) + 8, std::end(v6.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> network{};
  return std::string(inet_ntop(AF_INET6, &v6, network.data(), network.size())) + "/64";
}

}  // namespace tributary::wire
