// One Participate stream.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/node_streams.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// Notices come on the coordinator's thread and are written there and then unless a write is under way; then
// the latest waits. Lives until gRPC is done with it and the coordinator has let go of it.
class ParticipateCall final : public grpc::ServerWriteReactor<v1::ParticipateResponse>,
                              public TaskSink,
                              public std::enable_shared_from_this<ParticipateCall> {
 public:
  static ParticipateCall* Start(Coordinator& coordinator, const v1::ParticipateRequest& request);
  // Ends at once.
  static ParticipateCall* Refuse(Coordinator& coordinator, const grpc::Status& status);

  void OnTask(v1::ParticipateResponse message) override;
  void OnEnd(absl::Status status) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit ParticipateCall(Coordinator& coordinator) : coordinator_(coordinator) {}
  static std::shared_ptr<ParticipateCall> Make(Coordinator& coordinator);

  // What to do next, decided under the lock and done outside of it.
  enum class Action { kNone, kWrite, kFinish };
  Action Next() REQUIRES(mutex_);
  void Do(Action action);

  Coordinator& coordinator_;
  std::shared_ptr<ParticipateCall> self_;  // until OnDone
  runtime::Mutex mutex_;
  std::optional<v1::ParticipateResponse> pending_ GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  v1::ParticipateResponse response_;  // being written
};

}  // namespace tributary::learning
