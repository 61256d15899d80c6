#include "aggregator/learning/service/peer_check.h"

#include <fmt/format.h>

#include "core/link/grpc_call.h"

namespace tributary::learning {

absl::Status CheckPeer(const grpc::AuthContext& peer, const std::string& node) {
  const auto name = link::PeerCertificateName(peer);
  if (!name || *name == node) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("node: \"{}\" calls with the certificate of \"{}\"; they must be equal", node, *name));
}

}  // namespace tributary::learning
