// One WatchRun stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/run_api.h"
#include "aggregator/learning/service/run_board.h"
#include "aggregator/learning/service/streaming_call.h"
#include "core/runtime/mutex.h"
#include "core/wire/peer.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Told of changes on the coordinator's thread; writes what is new when no write is under way. Nothing is
// queued: a slow reader gets the latest state, and every line of the history. After the run it waits for the
// judgement of its last model, but no longer than `patience`.
class WatchRunCall final : public StreamingCall<WatchRunCall, grpc::ServerWriteReactor<v1::WatchRunResponse>>,
                           public RunBoard::Listener {
 public:
  WatchRunCall(const RunBoard& board, const v1::WatchRunRequest& request, std::chrono::seconds patience)
      : board_(board), run_(request.run()), after_round_(request.after_round()), patience_(patience) {}

  static WatchRunCall* Start(RunBoard& board, const v1::WatchRunRequest& request,
                             std::chrono::seconds patience) {
    const std::shared_ptr<WatchRunCall> call = Make(board, request, patience);
    board.Add(call);
    call->OnChange();
    return call.get();
  }

  void OnChange() override {
    Action action = Action::kNone;
    {
      const runtime::MutexLock lock(mutex_);
      action = Next();
    }
    if (action == Action::kWrite) StartWrite(&response_);
    if (action == Action::kWait) Wait();
    if (action != Action::kFinish) return;
    Finish(board_.Find(run_) == nullptr ? wire::ToGrpcStatus(NoSuchRun(run_)) : grpc::Status::OK);
  }

  void OnWriteDone(bool ok) override {
    {
      const runtime::MutexLock lock(mutex_);
      writing_ = false;
      cancelled_ = cancelled_ || !ok;
    }
    OnChange();
  }

  void OnCancel() override {
    {
      const runtime::MutexLock lock(mutex_);
      cancelled_ = true;
    }
    OnChange();
  }

 private:
  // What to do next, decided under the lock and done outside of it.
  enum class Action { kNone, kWrite, kWait, kFinish };

  Action Next() REQUIRES(mutex_) {
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
    sent_bytes_ = std::move(bytes);
    writing_ = true;
    return Action::kWrite;
  }

  // Lines that are new or amended; false: there are more than a message holds.
  bool AddLines() REQUIRES(mutex_) {
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

  void Wait() {
    alarm_.Set(std::chrono::system_clock::now() + patience_, [weak = weak_from_this()](bool expired) {
      const auto call = weak.lock();
      if (call == nullptr || !expired) return;
      {
        const runtime::MutexLock lock(call->mutex_);
        call->impatient_ = true;
      }
      call->OnChange();
    });
  }

  const RunBoard& board_;
  const std::string run_;
  const std::uint32_t after_round_;
  const std::chrono::seconds patience_;
  runtime::Mutex mutex_;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  bool waiting_ GUARDED_BY(mutex_) = false;    // for a judgement
  bool impatient_ GUARDED_BY(mutex_) = false;  // has waited long enough
  // The history was sent up to this change. `changes_`: the count of changes as of which that is all.
  std::int64_t revision_ GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> changes_ GUARDED_BY(mutex_);
  std::string sent_bytes_ GUARDED_BY(mutex_);  // of the run's state: what did not change is not sent again
  v1::WatchRunResponse response_;              // being written
  grpc::Alarm alarm_;
};

}  // namespace tributary::learning
