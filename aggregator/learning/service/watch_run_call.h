// One WatchRun stream.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/learning/service/run_board.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Told of changes on the coordinator's thread; writes what is new when no write is under way. Nothing is
// queued: a slow reader gets the latest state, and every line of the history. After the run it waits for the
// judgement of its last model, but no longer than `patience`.
class WatchRunCall final : public grpc::ServerWriteReactor<v1::WatchRunResponse>,
                           public RunBoard::Listener,
                           public std::enable_shared_from_this<WatchRunCall> {
 public:
  static WatchRunCall* Start(RunBoard& board, const v1::WatchRunRequest& request,
                             std::chrono::seconds patience);

  void OnChange() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

 private:
  WatchRunCall(const RunBoard& board, const v1::WatchRunRequest& request, std::chrono::seconds patience)
      : board_(board), run_(request.run()), after_round_(request.after_round()), patience_(patience) {}

  enum class Action { kNone, kWrite, kWait, kFinish };
  Action Next() REQUIRES(mutex_);
  // Lines that are new or amended; false: there are more than a message holds.
  bool AddLines() REQUIRES(mutex_);
  void Go();
  void Wait();

  const RunBoard& board_;
  const std::string run_;
  const std::uint32_t after_round_;
  const std::chrono::seconds patience_;
  std::shared_ptr<WatchRunCall> self_;  // until OnDone
  runtime::Mutex mutex_;
  bool begun_ GUARDED_BY(mutex_) = false;  // something has been sent
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
