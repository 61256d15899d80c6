// Where every call of the gRPC server begins: admits it by the name on the peer's certificate, and ends open
// calls whose peer has lost its role.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "aggregator/access/access_control.h"

namespace tributary::access {

class OpenCalls;

// Works for services of every API of gRPC, so no service can forget it. Thread-safe after Guard.
//
// Report and Watch are judged here when they begin; the server judges them again after a change, because
// watching each of their messages would cost the hot path.
class CallGate {
 public:
  // The control outlives it; it outlives the server.
  explicit CallGate(AccessControl& control);
  ~CallGate();

  using InterceptorFactory = std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>;
  // Call before the server is built, and give it the result: it takes all interceptors at once. The
  // credentials are those of mutual TLS.
  InterceptorFactory Guard(grpc::ServerCredentials& credentials);

  // Cancels the open calls that the policy in force does not admit. Not on a thread of gRPC's.
  void Recheck();

 private:
  AccessControl& control_;
  const std::shared_ptr<OpenCalls> open_;
};

}  // namespace tributary::access
