#include "aggregator/learning/service/participate_call.h"

#include <utility>

#include "aggregator/learning/service/federation_wire.h"
#include "core/link/grpc_call.h"

namespace tributary::learning {

std::shared_ptr<ParticipateCall> ParticipateCall::Make(Coordinator& coordinator) {
  auto call = std::shared_ptr<ParticipateCall>(new ParticipateCall(coordinator));
  call->self_ = call;
  return call;
}

ParticipateCall* ParticipateCall::Start(Coordinator& coordinator, const v1::ParticipateRequest& request) {
  absl::StatusOr<NodeDeclaration> declaration = DeclarationFromWire(request);
  if (!declaration.ok()) return Refuse(coordinator, link::ToGrpcStatus(declaration.status()));
  const std::shared_ptr<ParticipateCall> call = Make(coordinator);
  coordinator.Join(request.run(), *std::move(declaration), call);
  return call.get();
}

ParticipateCall* ParticipateCall::Refuse(Coordinator& coordinator, const grpc::Status& status) {
  const std::shared_ptr<ParticipateCall> call = Make(coordinator);
  {
    runtime::MutexLock lock(call->mutex_);
    call->finished_ = true;
  }
  call->Finish(status);
  return call.get();
}

ParticipateCall::Action ParticipateCall::Next() {
  if (writing_ || finished_) return Action::kNone;
  if (pending_) {
    response_ = *std::exchange(pending_, std::nullopt);
    writing_ = true;
    return Action::kWrite;
  }
  if (!ending_) return Action::kNone;
  finished_ = true;
  return Action::kFinish;
}

void ParticipateCall::Do(Action action) {
  if (action == Action::kWrite) StartWrite(&response_);
  if (action == Action::kFinish) {
    const grpc::Status status = [this] {
      runtime::MutexLock lock(mutex_);
      return *ending_;
    }();
    Finish(status);
  }
}

void ParticipateCall::OnTask(v1::ParticipateResponse message) {
  Action action = Action::kNone;
  {
    runtime::MutexLock lock(mutex_);
    if (ending_) return;
    pending_ = std::move(message);
    action = Next();
  }
  Do(action);
}

void ParticipateCall::OnEnd(absl::Status status) {
  Action action = Action::kNone;
  {
    runtime::MutexLock lock(mutex_);
    if (!ending_) ending_ = link::ToGrpcStatus(status);
    action = Next();
  }
  Do(action);
}

void ParticipateCall::OnWriteDone(bool ok) {
  Action action = Action::kNone;
  {
    runtime::MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) {
      pending_.reset();
      if (!ending_) ending_ = grpc::Status(grpc::StatusCode::CANCELLED, "the node has gone");
    }
    action = Next();
  }
  Do(action);
}

void ParticipateCall::OnCancel() { OnEnd(absl::CancelledError("the node has gone")); }

void ParticipateCall::OnDone() {
  coordinator_.Leave(shared_from_this());
  self_.reset();
}

}  // namespace tributary::learning
