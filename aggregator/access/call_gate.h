// Where every call of the gRPC server begins: admits it by the peer's certificate.
#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/security/auth_context.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aggregator/access/access_control.h"

namespace tributary::access {

// Makes the server ask `control` about each call by its path, before any service sees it: works for services
// of every API of gRPC, so no service can forget it. For the credentials of mutual TLS. The control outlives
// the server. `begun` is told of each call and whether it is admitted, by the name behind it, on the thread
// that has read its headers.
using BegunCall = std::function<void(const std::string& name, bool admitted)>;
grpc_auth_metadata_processor GateOf(AccessControl& control, BegunCall begun);

// Who makes a call; nothing without TLS. Without a control only the name is known.
std::optional<Peer> PeerOf(const grpc::AuthContext& context, AccessControl* control);
// When its certificate expires; 0: no TLS. Parses the certificate, which takes some 0.1 ms.
std::int64_t CertificateExpiryUnixNs(const grpc::AuthContext& context);

}  // namespace tributary::access
