#include "aggregator/learning/service/watch_run_call.h"

#include <utility>

#include "core/link/grpc_call.h"
#include "aggregator/learning/service/run_wire.h"

namespace tributary {

WatchRunCall* WatchRunCall::Start(RunBoard& board, const v1::WatchRunRequest& request,
                                  std::chrono::seconds patience) {
  auto call = std::shared_ptr<WatchRunCall>(new WatchRunCall(board, request, patience));
  call->self_ = call;
  board.Add(call);
  call->Go();
  return call.get();
}

WatchRunCall::Action WatchRunCall::Next() {
  if (writing_ || finished_) return Action::kNone;
  const std::shared_ptr<const RunView> view = board_.Find(run_);
  if (cancelled_ || view == nullptr) {
    finished_ = true;
    return Action::kFinish;
  }
  response_.Clear();
  *response_.mutable_run() = RunToWire(*view, false);
  sent_.resize(view->history.size());
  std::size_t bytes_of_rounds = 0;
  for (std::size_t i = 0; i < sent_.size() && bytes_of_rounds < kMaxHistoryBytes; ++i) {
    if (view->history[i] == sent_[i]) continue;
    sent_[i] = view->history[i];
    if (sent_[i]->round <= after_round_) continue;
    v1::Round& round = *response_.add_rounds() = RoundToWire(*sent_[i]);
    bytes_of_rounds += round.ByteSizeLong();
  }
  std::string bytes = response_.run().SerializeAsString();
  if (response_.rounds().empty() && bytes == sent_bytes_) {
    if (!view->ended()) return Action::kNone;
    if (view->to_judge && !impatient_) {
      return std::exchange(waiting_, true) ? Action::kNone : Action::kWait;
    }
    finished_ = true;
    return Action::kFinish;
  }
  begun_ = true;
  sent_bytes_ = std::move(bytes);
  writing_ = true;
  return Action::kWrite;
}

void WatchRunCall::Go() {
  Action action = Action::kNone;
  bool known = false;
  {
    MutexLock lock(mutex_);
    action = Next();
    known = begun_;
  }
  if (action == Action::kWrite) StartWrite(&response_);
  if (action == Action::kWait) Wait();
  if (action != Action::kFinish) return;
  Finish(known ? grpc::Status::OK : ToGrpcStatus(NoSuchRun(run_)));
}

void WatchRunCall::Wait() {
  alarm_.Set(std::chrono::system_clock::now() + patience_, [weak = weak_from_this()](bool expired) {
    const auto call = weak.lock();
    if (call == nullptr || !expired) return;
    {
      MutexLock lock(call->mutex_);
      call->impatient_ = true;
    }
    call->Go();
  });
}

void WatchRunCall::OnChange() { Go(); }

void WatchRunCall::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Go();
}

void WatchRunCall::OnCancel() {
  {
    MutexLock lock(mutex_);
    cancelled_ = true;
  }
  Go();
}

}  // namespace tributary
