// The nodes that are connected: which run each takes part in, and what it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/service/hosted_runs.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// A node that takes part. Called on the coordinator's thread; returns at once. After OnEnd nothing more
// comes.
class TaskSink {
 public:
  virtual ~TaskSink() = default;

  // Replaces a message that has not been sent yet.
  virtual void OnTask(v1::ParticipateResponse message) = 0;
  virtual void OnEnd(absl::Status status) = 0;
};

// The nodes that could do a parent's training: those that wait for a run and those in the relayed one.
struct RosterSize {
  std::size_t nodes = 0;  // that have said how many samples they have
  std::uint64_t sample_count = 0;

  friend bool operator==(const RosterSize&, const RosterSize&) = default;
};

// One thread at a time, but for Waiting. A node that asks for a run that has not started waits if the parent
// may start it; without a name it gets the first run that has not ended, or the next to start.
class Attendance {
 public:
  // Streams of nodes, with those that wait for a run: no run has more nodes.
  static constexpr std::size_t kMaxNodes = 10'000;

  // All outlive it.
  Attendance(HostedRuns& runs, LearningCounters& counters, const runtime::Clock& clock)
      : runs_(runs), counters_(counters), clock_(clock) {}

  // A stream of the same node and run that joined before is ended with Aborted; one beyond kMaxNodes with
  // ResourceExhausted.
  void Join(v1::ParticipateRequest declaration, std::shared_ptr<TaskSink> sink);
  // Without effect if the stream was ended.
  void Leave(const TaskSink* sink);
  // Ends all streams, also those that join from now on, with Unavailable.
  void Drain();

  // A run has been added: puts the nodes that wait for it into it.
  void AssignWaiting();
  // Tells the nodes that a change of the run concerns, and ends the streams of those it is over for.
  void Tell(Run& run, const ChangedNodes& changed);

  // From now on nodes that ask for a run that is not here wait, and `watch` is told the roster: as it is, and
  // when it has changed.
  void AwaitParent(std::function<void(const RosterSize&)> watch) { parent_ = {std::move(watch), {}, 0}; }
  // Tells the parent if it is time; the steady time at which to call again, or nothing.
  std::optional<std::int64_t> TellParent();

  // Any thread: the nodes that are connected and in no run yet.
  std::vector<v1::ParticipateRequest> Waiting() const;

 private:
  struct Stream {
    v1::ParticipateRequest declaration;  // its run: the one it takes part in; while it waits: as it asked
    std::shared_ptr<TaskSink> sink;
    std::int64_t since_ns = 0;          // steady
    bool joined = false;                // otherwise it waits for a run
    std::optional<NodeTask> told = {};  // absent: nothing yet
  };
  using Key = std::pair<std::string, std::string>;  // run and node: a node has one stream per run

  struct Parent {
    std::function<void(const RosterSize&)> watch;  // null: there is no parent
    std::optional<RosterSize> told;
    std::optional<std::int64_t> due_ns;  // steady: when to tell of the changes since then; absent: no change
  };

  // The run that the stream asks for; null: it is not here.
  Run* RunFor(const Stream& stream);
  // Puts the stream into its run, or lets it wait. Null: it was of no use and has been ended.
  const Stream* Assign(Stream stream);
  void LetWait(Stream& stream);
  void Tell(Run& run, Stream& stream);
  Stream Remove(const TaskSink* sink);
  void Drop(const TaskSink* sink, absl::Status why);
  void Refuse(const Stream& stream, absl::Status why);
  // The parent's roster may be another one.
  void TouchRoster();
  RosterSize CountRoster();

  HostedRuns& runs_;
  LearningCounters& counters_;
  const runtime::Clock& clock_;
  std::map<Key, Stream> streams_;
  std::unordered_map<const TaskSink*, Stream*> by_sink_;
  Parent parent_;
  bool draining_ = false;
  runtime::LogLimit lines_{100, 1'000'000'000};  // nodes come and go in crowds
  mutable runtime::Mutex mutex_;
  std::map<const TaskSink*, v1::ParticipateRequest> waiting_ GUARDED_BY(mutex_);
};

}  // namespace tributary::learning
