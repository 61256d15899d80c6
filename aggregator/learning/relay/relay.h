// Takes part in a parent's run with the sum of this aggregator's own nodes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/service/coordinator.h"
#include "core/link/federation_client.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::learning {

struct RelayOptions {
  link::FederationClientOptions parent;  // sample_count, partial_sums and on_ended are set here
  std::size_t min_nodes = 1;             // of its own, without which it has no samples to declare
};

// The parent sees a node that has the samples of all nodes connected here; each of these sees a run of this
// aggregator. One thread: waits for the parent's task, has the coordinator do the round (RelayedRun) with a
// deadline that leaves time to send the sum, sends it. Counters and status are any thread's.
class Relay {
 public:
  struct Counters {
    std::atomic<std::uint64_t> rounds = 0;    // that were begun for the parent
    std::atomic<std::uint64_t> accepted = 0;  // partial sums
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> abandoned = 0;     // rounds without a sum: no update, or the parent went on
    std::atomic<std::uint64_t> contributors = 0;  // nodes in the accepted sums
    std::atomic<std::uint64_t> left_out = 0;      // contributors removed from a resent sum
  };

  // The coordinator outlives it.
  Relay(RelayOptions options, Coordinator& coordinator, const runtime::Clock& clock);
  ~Relay();  // Stop()

  // A round under way stays as it is stored: the next start goes on with it.
  void Stop();

  const link::FederationClientOptions& parent() const { return options_.parent; }
  const link::FederationClient& client() const { return *client_; }
  const Counters& counters() const { return counters_; }
  void Collect(runtime::Reading& reading) const;

 private:
  using Assignment = link::FederationClient::Assignment;
  struct Waiting;

  void Run();
  void Do(const Assignment& assignment);
  absl::StatusOr<PartialSum> Gather(const Assignment& assignment);
  // The coordinator's answer to `ask`, unless the parent withdraws its task before.
  absl::StatusOr<PartialSum> Await(const Assignment& assignment,
                                   const std::function<void(RelayedRun::SumDone)>& ask);
  // The nodes in the sum that the parent took in the end.
  absl::StatusOr<int> Deliver(const Assignment& assignment, PartialSum sum);

  const RelayOptions options_;
  Coordinator& coordinator_;
  const runtime::Clock& clock_;
  // Shared with the coordinator, which tells it the roster.
  std::shared_ptr<link::FederationClient> client_;
  std::atomic<bool> stopping_ = false;
  Counters counters_;
  std::jthread thread_;  // last: it uses everything above
};

// The run that hands a task's settings to nodes. Errors: FailedPrecondition for a task that sums of several
// updates cannot answer.
absl::StatusOr<RunConfig> RelayedConfig(const wire::TrainTask& task);

// The following may be called from any thread and return at once; what they are given is called on the
// coordinator's thread and returns at once.

// The parent asks for a round of a run (HostedRuns::StartRelayed, RelayedRun::BeginRound); another relayed
// run ends. `done` is called once, with the sum or why there is none.
void BeginRelayed(Coordinator& coordinator, RunConfig config, ParentRound round, std::string model_file,
                  RelayedRun::SumDone done);
// Without effect on a run that is this aggregator's own. `missing` is called if there is no such relayed run.
void OnRelayed(Coordinator& coordinator, std::string run, std::function<void(RelayedRun&)> act,
               std::function<void()> missing = {});

}  // namespace tributary::learning
