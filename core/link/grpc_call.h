// What every gRPC adapter of the aggregator needs: the conversion of a status, and the caller's name.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace tributary::link {

// Codes are numbered alike on both sides.
inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// The common name of the peer's certificate; nothing where TLS is off.
inline std::optional<std::string> PeerCertificateName(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const auto names = context.FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  // Authenticated but without a name: equal to no node's name.
  return names.empty() ? std::string() : std::string(names.front().data(), names.front().size());
}

}  // namespace tributary::link
