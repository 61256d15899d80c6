#include "aggregator/learning/service/watch_run_call.h"

#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/run_message.h"
#include "core/link/grpc_call.h"

namespace tributary::learning {

WatchRunCall* WatchRunCall::Start(RunBoard& board, const v1::WatchRunRequest& request,
                                  std::chrono::seconds patience) {
  auto call = std::shared_ptr<WatchRunCall>(new WatchRunCall(board, request, patience));
  call->self_ = call;
  board.Add(call);
  call->Go();
  return call.get();
}

bool WatchRunCall::AddLines() {
  std::size_t bytes = 0;
  while (bytes < kMaxHistoryBytes) {
    constexpr std::size_t kPage = 64;
    const auto lines = board_.store().LinesAfter(run_, revision_, kPage);
    if (!lines.ok() || lines->empty()) return true;
    for (const store::HistoryRecord& each : *lines) {
      if (bytes >= kMaxHistoryBytes) return false;
      revision_ = each.revision;
      auto line = ParseStored<v1::Round>(each.document, "history");
      if (!line.ok() || line->round() <= after_round_) continue;
      bytes += each.document.size();
      *response_.add_rounds() = *std::move(line);
    }
  }
  return false;
}

WatchRunCall::Action WatchRunCall::Next() {
  if (writing_ || finished_) return Action::kNone;
  const std::shared_ptr<const RunRecord> record = board_.Find(run_);
  if (cancelled_ || record == nullptr) {
    finished_ = true;
    return Action::kFinish;
  }
  response_.Clear();
  *response_.mutable_run() = record->run;
  if (changes_ != record->history_changes && AddLines()) changes_ = record->history_changes;
  std::string bytes = response_.run().SerializeAsString();
  if (response_.rounds().empty() && bytes == sent_bytes_) {
    if (!record->ended()) return Action::kNone;
    if (record->to_judge && !impatient_) {
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
    runtime::MutexLock lock(mutex_);
    action = Next();
    known = begun_;
  }
  if (action == Action::kWrite) StartWrite(&response_);
  if (action == Action::kWait) Wait();
  if (action != Action::kFinish) return;
  Finish(known ? grpc::Status::OK : link::ToGrpcStatus(NoSuchRun(run_)));
}

void WatchRunCall::Wait() {
  alarm_.Set(std::chrono::system_clock::now() + patience_, [weak = weak_from_this()](bool expired) {
    const auto call = weak.lock();
    if (call == nullptr || !expired) return;
    {
      runtime::MutexLock lock(call->mutex_);
      call->impatient_ = true;
    }
    call->Go();
  });
}

void WatchRunCall::OnChange() { Go(); }

void WatchRunCall::OnWriteDone(bool ok) {
  {
    runtime::MutexLock lock(mutex_);
    writing_ = false;
    cancelled_ = cancelled_ || !ok;
  }
  Go();
}

void WatchRunCall::OnCancel() {
  {
    runtime::MutexLock lock(mutex_);
    cancelled_ = true;
  }
  Go();
}

}  // namespace tributary::learning
