// What the gRPC server knows of a call of the callback API beside what gRPC does.
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace tributary::access {

struct CallContext : grpc::CallbackServerContext {
  // The peer lost its role or its certificate after the unary call had begun and before its request was
  // complete. It cannot be cancelled: gRPC hands it to its service all the same.
  bool revoked = false;
};

// PermissionDenied if the call was revoked. For services, before a unary call does anything.
inline absl::Status CheckNotRevoked(const grpc::CallbackServerContext& context) {
  const auto* const call = dynamic_cast<const CallContext*>(&context);
  if (call == nullptr || !call->revoked) return absl::OkStatus();
  return absl::PermissionDeniedError("this certificate may no longer make the call");
}

}  // namespace tributary::access
