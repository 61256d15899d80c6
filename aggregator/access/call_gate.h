// Where every call of the gRPC server begins: admits it by the peer's certificate.
#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/security/auth_context.h>

#include <optional>

#include "aggregator/access/access_control.h"

namespace tributary::access {

// Makes the server ask `control` about each call by its path, before any service sees it: works for services
// of every API of gRPC, so no service can forget it. For the credentials of mutual TLS. The control outlives
// the server.
grpc_auth_metadata_processor GateOf(AccessControl& control);

// Who makes a call; nothing without TLS. Without a control only the name is known.
std::optional<Peer> PeerOf(const grpc::AuthContext& context, AccessControl* control);

}  // namespace tributary::access
