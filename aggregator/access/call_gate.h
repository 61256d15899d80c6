// Where every call of the gRPC server begins: admits it by the peer's certificate.
#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/security/auth_context.h>

#include <functional>
#include <optional>
#include <string>

#include "aggregator/access/access_control.h"

namespace tributary::access {

// Makes the server ask `control` about each call by its path, before any service sees it: works for services
// of every API of gRPC, so no service can forget it. For the credentials of mutual TLS. The control outlives
// the server. The gate tells `news` of each call, by the name behind it, on a thread of gRPC's. A service
// sees an admitted call with one request only when that request is complete: the gate sees it before.
struct GateNews {
  std::function<void(const std::string& name)> admitted;
  std::function<void(const std::string& name)> refused;
};
grpc_auth_metadata_processor GateOf(AccessControl& control, GateNews news);

// Who makes a call; nothing without TLS. Without a control only the name is known.
std::optional<Peer> PeerOf(const grpc::AuthContext& context, AccessControl* control);

}  // namespace tributary::access
