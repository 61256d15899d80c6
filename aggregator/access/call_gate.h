// Where every call of the gRPC server begins: admits it by the name on the peer's certificate.
#pragma once

#include <grpcpp/grpcpp.h>

#include "aggregator/access/access_control.h"

namespace tributary::access {

// Makes the server ask `control` about each call by its path, before any service sees it: works for services
// of every API of gRPC, so no service can forget it. The credentials are those of mutual TLS. The control
// outlives the server.
void GuardCalls(grpc::ServerCredentials& credentials, AccessControl& control);

}  // namespace tributary::access
