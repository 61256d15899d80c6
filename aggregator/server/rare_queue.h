// One completion queue and its thread for the rare calls: fleet, health, reflection.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/publish/aggregator_state.h"
#include "aggregator/server/ingest_queue.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::server {

class ReflectionCall;

// Beside the ingest queues, because listing many nodes takes milliseconds. gRPC's other ways of serving are
// worse: its synchronous services keep every call that a peer has reset until a thread has looked at it, and
// each stream holds one of few threads; its callback API polls with threads of its own, and would hand the
// events of the hot path from thread to thread. The queue is one that gRPC assigns no connections to, and its
// thread looks at it every few milliseconds: if it waited there, it would poll like one of those.
//
// Run() is the thread, on which all calls live. Calls are answered one after the other: each is quick, and
// none waits for its peer.
class RareQueue {
 public:
  // Open reflection streams; one more ends the oldest.
  static constexpr std::size_t kMaxReflections = 16;

  // The state and `serving` outlive it.
  RareQueue(const publish::AggregatorState& state, const std::atomic<bool>& serving);
  ~RareQueue();

  // Adds the services and the queue to the server. The other functions are for afterwards.
  void Register(grpc::ServerBuilder& builder);
  // Serves until Close().
  void Run();
  // Call after the server has shut down: lets Run() return.
  void Close() { queue_->Shutdown(); }
  // Instead of Run(), for a server that could not start.
  void Discard();

  // For the calls.
  void Add(ReflectionCall* call);
  void Remove(ReflectionCall* call) { reflections_.remove(call); }
  grpc::ServerCompletionQueue* queue() { return queue_.get(); }
  grpc::reflection::v1alpha::ServerReflection::AsyncService& reflection() { return reflection_; }

 private:
  grpc::Status ListNodes(const grpc::ServerContext& context, const v1::ListNodesRequest& request,
                         v1::ListNodesResponse& response) const;
  std::optional<std::string> OnlyNodeFor(const grpc::AuthContext& peer) const;
  grpc::Status Check(const grpc::ServerContext& context, const grpc::health::v1::HealthCheckRequest& request,
                     grpc::health::v1::HealthCheckResponse& response) const;

  const publish::AggregatorState& state_;
  const std::atomic<bool>& serving_;
  v1::FleetService::AsyncService fleet_;
  grpc::health::v1::Health::AsyncService health_;
  grpc::reflection::v1alpha::ServerReflection::AsyncService reflection_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::list<ReflectionCall*> reflections_;  // oldest first
};

}  // namespace tributary::server
