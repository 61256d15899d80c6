// Mutual TLS of the gRPC server, whose certificate, key and CA may be replaced while it runs.
#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <optional>

#include "core/config/live_tls.h"

namespace tributary::server {

// Each handshake uses the certificates in force. Connections that are open go on. `judge`, if any, is asked
// at the beginning of each call.
std::shared_ptr<grpc::ServerCredentials> LiveServerCredentials(
    config::TlsSource tls, const std::optional<grpc_auth_metadata_processor>& judge);

}  // namespace tributary::server
