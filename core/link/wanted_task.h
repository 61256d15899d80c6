// The task that the aggregator wants, handed from the thread that reads tasks to the one that does them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"
#include "core/wire/federation_task.h"

namespace tributary::link {

struct TrainAssignment {
  wire::TrainTask task;
  // Stop is requested once the aggregator wants something else or this side stops.
  std::stop_token withdrawn;
};

// Keeps only the newest task: a newer one replaces a task that Next has not returned. Thread-safe.
class WantedTask {
 public:
  explicit WantedTask(const runtime::Clock& clock) : clock_(clock) {}

  // --- For the thread that does tasks ---

  // Waits for the next task; nothing after Stop. Returns the same task again only after Finish, if it is
  // wanted again.
  std::optional<TrainAssignment> Next();
  void Finish(const wire::TrainTask& task);

  // --- For the thread that reads tasks ---

  // Whether the present task is the same work, which then continues. Its deadline may have moved.
  bool GoesOn(const wire::TrainTask& task);
  // Withdraws the present task. Nothing: there is none now.
  void Replace(std::optional<wire::TrainTask> task);
  // Withdraws the present task unless it belongs to this round.
  void KeepOnly(const std::string& run, std::uint32_t round);
  // There is no task now. The present one stands until its deadline, unless the run is over. Returns whether
  // the reason is new.
  bool Wait(const std::string& reason, bool over);

  void Stop();

  std::string waiting_for() const;  // the last reason; empty while there is something to do

 private:
  const runtime::Clock& clock_;
  mutable runtime::Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<wire::TrainTask> task_ GUARDED_BY(mutex_);  // not yet finished
  bool taken_ GUARDED_BY(mutex_) = false;                   // Next has given it
  std::stop_source withdrawal_ GUARDED_BY(mutex_);          // of task_
  std::string waiting_for_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace tributary::link
