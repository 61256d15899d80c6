// One Participate stream.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/streaming_call.h"
#include "core/runtime/mutex.h"
#include "core/wire/peer.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// Notices come on the coordinator's thread and are written there and then unless a write is under way; then
// the latest waits. Lives until gRPC is done with it and the coordinator has let go of it.
class ParticipateCall final
    : public StreamingCall<ParticipateCall, grpc::ServerWriteReactor<v1::ParticipateResponse>>,
      public TaskSink {
 public:
  explicit ParticipateCall(Coordinator& coordinator) : coordinator_(coordinator) {}

  static ParticipateCall* Start(Coordinator& coordinator, const grpc::CallbackServerContext& context,
                                const v1::ParticipateRequest& request) {
    const std::shared_ptr<ParticipateCall> call = Make(coordinator);
    absl::StatusOr<NodeDeclaration> declaration = DeclarationFromWire(request);
    absl::Status status = CheckPeer(*context.auth_context(), request.node());
    if (status.ok()) status = declaration.status();
    if (status.ok()) {
      coordinator.Join(request.run(), *std::move(declaration), call);
    } else {
      call->OnEnd(std::move(status));
    }
    return call.get();
  }

  void OnTask(v1::ParticipateResponse message) override {
    {
      const runtime::MutexLock lock(mutex_);
      if (ending_) return;
      pending_ = std::move(message);
    }
    Go();
  }

  void OnEnd(absl::Status status) override {
    {
      const runtime::MutexLock lock(mutex_);
      if (!ending_) ending_ = wire::ToGrpcStatus(status);
    }
    Go();
  }

  void OnWriteDone(bool ok) override {
    {
      const runtime::MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) {
        pending_.reset();
        if (!ending_) ending_ = grpc::Status(grpc::StatusCode::CANCELLED, "the node has gone");
      }
    }
    Go();
  }

  void OnCancel() override { OnEnd(absl::CancelledError("the node has gone")); }

  void OnDone() override {
    coordinator_.Leave(shared_from_this());
    StreamingCall::OnDone();
  }

 private:
  // Decides under the lock what to do next, and does it outside of it.
  void Go() {
    std::optional<grpc::Status> ending;
    {
      const runtime::MutexLock lock(mutex_);
      if (writing_ || finished_ || (!pending_ && !ending_)) return;
      if (pending_) {
        response_ = *std::exchange(pending_, std::nullopt);
        writing_ = true;
      } else {
        ending = ending_;
        finished_ = true;
      }
    }
    if (ending) return Finish(*ending);
    StartWrite(&response_);
  }

  Coordinator& coordinator_;
  runtime::Mutex mutex_;
  std::optional<v1::ParticipateResponse> pending_ GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  v1::ParticipateResponse response_;  // being written
};

}  // namespace tributary::learning
