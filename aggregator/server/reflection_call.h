// One stream of gRPC's server reflection: tells grpcurl and its like which calls there are.
#pragma once

#include <grpcpp/grpcpp.h>

#include "aggregator/server/rare_queue.h"

namespace tributary::server {

// The queue's thread only. Deletes itself after its last completion. Questions and answers take turns.
class ReflectionCall {
 public:
  // Waits on the queue for a stream to begin, then for the next one.
  static void Listen(RareQueue& queue);

  // Ends it in favour of a newer one.
  void Cut() { context_.TryCancel(); }

 private:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  explicit ReflectionCall(RareQueue& queue) : queue_(queue) {}

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished();

  RareQueue& queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<Response, Request> stream_{&context_};
  Request request_;
  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion read_ = [this](bool ok) { OnRead(ok); };
  Completion written_ = [this](bool ok) { OnWritten(ok); };
  Completion finished_ = [this](bool) { OnFinished(); };
};

// The answer to one question.
grpc::reflection::v1alpha::ServerReflectionResponse AnswerReflection(
    const grpc::reflection::v1alpha::ServerReflectionRequest& request);

}  // namespace tributary::server
