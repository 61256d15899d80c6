// Whether a peer is who it says.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"

namespace tributary::learning {

// PermissionDenied if the peer's certificate is another's than `node`; OK where TLS is off.
absl::Status CheckPeer(const grpc::AuthContext& peer, const std::string& node);

}  // namespace tributary::learning
