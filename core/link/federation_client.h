// The client of FederationService: is told what to do in a federated run, fetches models, submits updates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/tls.h"
#include "core/link/wanted_task.h"
#include "core/parameters/task_decline.h"
#include "core/runtime/clock.h"
#include "core/wire/federation_task.h"
#include "core/wire/report.h"

namespace tributary::link {

struct FederationClientOptions {
  std::string aggregator;  // "host:port" or "unix:path"
  std::optional<config::TlsMaterial> tls;
  std::string node;  // equals the certificate's name where TLS is on
  std::string run;   // empty: the run that is active, or the next to start
  wire::BootId boot_id = {};
  std::uint64_t sample_count = 0;   // that this node trains on: the weight of its updates; see SetSampleCount
  bool secure_aggregation = false;  // can mask its updates
  bool partial_sums = false;        // an aggregator: its updates are words with contributors
  // The run is over for this node. Called on the client's thread; returns at once.
  std::function<void(const wire::EndedTask&)> on_ended = nullptr;
};

enum class FederationState {
  kConnecting,     // or waiting to try again
  kParticipating,  // the aggregator has said what to do
  kRefused,        // the aggregator refuses this node (see last_error()); tried again slowly
  kStopped,
};
std::string_view FederationStateName(FederationState state);

// An update that is ready: what EncodeChunk leaves of it goes to `remainder`.
struct FinishedTraining {
  std::span<const float> update;  // the task's element_count
  std::span<float> remainder;     // of the same length
  parameters::TrainingMetrics metrics;
};

// Of a partial sum: one whose update is in it.
struct UpdateContributor {
  std::string node;
  std::uint64_t sample_count = 0;
};

// An update in the task's fixed point, weighted: a masked one or a partial sum.
struct FinishedWords {
  std::span<std::int32_t> words;                // the task's element_count
  std::uint64_t sample_count = 0;               // its weight; of a partial sum, the contributors' together
  std::vector<UpdateContributor> contributors;  // empty: this node itself
  parameters::TrainingMetrics metrics;
};

struct SubmitAnswer {
  bool accepted = false;
  std::string reason;   // unless accepted: the label of the refusal
  std::string message;  // from the aggregator
  // Of a partial sum: contributors without whom it may be sent again.
  std::vector<std::string> counted_elsewhere = {};
};

// Owns the channel and one thread that reads tasks. Next, FetchModel and Submit… are one other thread's, the
// rest is any thread's. Nothing but the newest task is kept: one that is overtaken before Next gives it is no
// longer wanted. A link that is lost is tried again within about a second, a refusal within 30 s.
//
// Secure aggregation is this class's own: its thread answers the steps around the training as they come, and
// no words of a masked task leave without their mask. The keys of a round are lost with the process: the node
// then takes no further part in that round, is not given its training, and takes part in the next.
class FederationClient {
 public:
  using Assignment = TrainAssignment;

  struct Counters {
    std::uint64_t streams = 0;          // that the aggregator answered
    std::uint64_t malformed_tasks = 0;  // that this node cannot read, and declined
    std::uint64_t received_bytes = 0;   // of models
    std::uint64_t sent_bytes = 0;       // of updates, repetitions included
    std::uint64_t repeated_submissions = 0;
    std::uint64_t lost_keys = 0;      // rounds of secure aggregation in which this node had no keys any more
    std::uint64_t refused_steps = 0;  // of secure aggregation: not done, or not taken by the aggregator
    std::uint64_t unusable_shares = 0;  // of other nodes' secrets
  };

  // Starts to connect.
  FederationClient(FederationClientOptions options, const runtime::Clock& clock);
  ~FederationClient();  // Stop()

  // The next training, once there is one. A task that was answered is given again only if the aggregator asks
  // again. Nothing after Stop.
  std::optional<Assignment> Next();

  // The file of the model that the task starts from. A fetch that breaks off goes on where it was, as long as
  // the task stands. Errors: Cancelled if it was withdrawn; DataLoss for chunks that do not fit together;
  // others as the aggregator's.
  absl::StatusOr<std::string> FetchModel(const Assignment& assignment);

  // Sends the update, from its start again after each break, as long as the task stands; the aggregator takes
  // it once. Of one that has been sent whole, the answer is awaited for another second if the task is
  // withdrawn: who counted in a round may hear of the next one first. Errors: Cancelled if it was withdrawn;
  // InvalidArgument for values that the encoding cannot hold; others as the aggregator's. A refusal is an
  // answer.
  absl::StatusOr<SubmitAnswer> Submit(const Assignment& assignment, const FinishedTraining& training);

  // Likewise, as words, which are masked in place if the task says so. Errors besides those: of
  // MaskingParty::Mask.
  absl::StatusOr<SubmitAnswer> SubmitWords(const Assignment& assignment, const FinishedWords& training);

  // Says that the task is not done and why, so that the aggregator goes on without this node; see
  // TaskDecline. One that takes no such call waits until the deadline. Errors: Cancelled if it was withdrawn;
  // others as the aggregator's.
  absl::Status Decline(const Assignment& assignment, const parameters::TaskDecline& decline);

  // What this node declares from now on. Another count than before begins the stream of tasks anew; the task
  // under way stands.
  void SetSampleCount(std::uint64_t sample_count);

  // The task is over, whatever became of it: Next waits for another, or for the aggregator to ask again.
  void Finish(const Assignment& assignment);

  // Ends calls under way and the thread.
  void Stop();

  FederationState state() const;
  absl::Status last_error() const;  // of the stream of tasks; OK while it is well
  std::string waiting_for() const;  // what the aggregator said last instead of a task; or empty
  Counters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::link
