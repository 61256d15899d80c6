// One stream of gRPC's server reflection: tells grpcurl and its like which calls there are.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>

#include "aggregator/server/counted_call.h"
#include "aggregator/server/rare_calls.h"

namespace tributary::server {

// Deletes itself after its last completion. Questions and answers take turns.
class ReflectionCall {
 public:
  // Waits on the queue for a stream to begin, then for the next one.
  static void Listen(RareCalls& calls);

  // Ends it in favour of a newer one, or because its peer has lost its role. Thread-safe until Remove.
  void Cut() { context_.TryCancel(); }
  // On the peer's certificate; empty without TLS.
  const access::Peer& identity() const { return identity_; }

 private:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  explicit ReflectionCall(RareCalls& calls) : calls_(calls) {}

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void End(const grpc::Status& status);
  void OnFinished();

  RareCalls& calls_;
  access::Peer identity_;  // empty without TLS
  std::optional<CountedCall> counted_;
  grpc::ServerContext context_;
  ReflectionOnQueue::Stream stream_{&context_};
  BoundedRequest<Request> request_;
  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion read_ = [this](bool ok) { OnRead(ok); };
  Completion written_ = [this](bool ok) { OnWritten(ok); };
  Completion finished_ = [this](bool) { OnFinished(); };
};

}  // namespace tributary::server
