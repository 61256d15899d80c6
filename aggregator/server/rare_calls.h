// The rare calls beside the hot path: fleet, health, reflection.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/publish/aggregator_state.h"
#include "aggregator/server/bounded_request.h"
#include "aggregator/server/connection_table.h"
#include "aggregator/server/early_methods.h"
#include "aggregator/server/ingest_queue.h"
#include "core/runtime/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace boost::asio {
class thread_pool;
}

namespace tributary::server {

class ReflectionCall;

// A service of which one method, whose requests are small, is served on a queue.
template <class Generated, int kMethod, class Request, class Response>
class OneCallOnQueue : public EarlyMethods<Generated> {
 public:
  using Stream = grpc::ServerAsyncReaderWriter<Response, BoundedRequest<Request>>;

  OneCallOnQueue() { this->BeginsEarly(kMethod); }

  void Ask(grpc::ServerContext* context, Stream* stream, grpc::ServerCompletionQueue* queue, void* tag) {
    this->RequestAsyncBidiStreaming(kMethod, context, stream, queue, queue, tag);
  }
};

using FleetOnQueue =
    OneCallOnQueue<v1::FleetService::Service, 0, v1::ListNodesRequest, v1::ListNodesResponse>;
using ReflectionOnQueue = OneCallOnQueue<grpc::reflection::v1alpha::ServerReflection::Service, 0,
                                         grpc::reflection::v1alpha::ServerReflectionRequest,
                                         grpc::reflection::v1alpha::ServerReflectionResponse>;
using HealthOnQueue =
    OneCallOnQueue<grpc::health::v1::Health::Service, 0, grpc::health::v1::HealthCheckRequest,
                   grpc::health::v1::HealthCheckResponse>;

// They live on an ingest queue, whose thread only takes them in; a thread of their own finds the answers,
// because listing many nodes takes milliseconds. gRPC's other ways of serving are worse: its synchronous
// services keep every call that a peer has reset until a thread has looked at it, and each stream holds one
// of few threads. Any further thread that waits in gRPC takes turns with the hot path's to poll for all, and
// events go from thread to thread.
class RareCalls {
 public:
  // Open reflection streams; one more ends the oldest. People with a tool open one now and then: a peer that
  // opens many in a second is cut off (ConnectionLimits::reflections).
  static constexpr std::size_t kMaxReflections = 16;

  // All outlive it. `serving`: what health answers.
  RareCalls(const publish::AggregatorState& state, ConnectionTable& connections,
            const std::atomic<bool>& serving);
  ~RareCalls();

  // Call before the server is built.
  void Register(grpc::ServerBuilder& builder);
  // Serves on that queue from now on.
  void Listen(grpc::ServerCompletionQueue& queue);
  // Call after the server has shut down, before its queue does: ends the thread after its last answer.
  void Close();
  // Ends the reflection streams whose peer has lost its role or its certificate.
  void FollowPolicy();

  // To make room for others.
  std::uint64_t ended_reflections() const { return ended_reflections_; }

  access::AccessControl* access() const { return state_.access; }
  // For the calls. Runs `step`, which may use the queue, unless it is closed; then false.
  template <class Step>
  bool IfOpen(const Step& step) EXCLUDES(mutex_) {
    const runtime::MutexLock lock(mutex_);
    if (closed_) return false;
    step();
    return true;
  }
  // Has the thread find an answer; false if it is closed. Not bounded: a call has one answer under way.
  bool Post(std::function<void()> answer);
  void Add(ReflectionCall* call);
  void Remove(ReflectionCall* call);
  grpc::ServerCompletionQueue* queue() { return queue_; }
  ConnectionTable& connections() { return connections_; }
  ReflectionOnQueue& reflection() { return reflection_; }

 private:
  // Ends the call if the policy in force does not admit it.
  void Judge(ReflectionCall& call) const;
  grpc::Status ListNodes(const grpc::ServerContext& context, const v1::ListNodesRequest& request,
                         v1::ListNodesResponse& response) const;
  std::optional<std::string> OnlyNodeFor(const grpc::AuthContext& peer) const;
  grpc::Status Check(const grpc::ServerContext& context, const grpc::health::v1::HealthCheckRequest& request,
                     grpc::health::v1::HealthCheckResponse& response) const;

  const publish::AggregatorState& state_;
  ConnectionTable& connections_;
  const std::atomic<bool>& serving_;
  FleetOnQueue fleet_;
  HealthOnQueue health_;
  ReflectionOnQueue reflection_;
  grpc::ServerCompletionQueue* queue_ = nullptr;
  runtime::Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::list<ReflectionCall*> reflections_ GUARDED_BY(mutex_);  // oldest first, without those that were ended
  std::atomic<std::uint64_t> ended_reflections_ = 0;
  const std::unique_ptr<boost::asio::thread_pool> thread_;  // one
};

}  // namespace tributary::server
