// A node's part in federated runs: tasks in, updates out, on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/federation_client.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/tensor.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/metrics.h"
#include "node/learner/learner_metrics.h"
#include "node/learner/learner_state.h"
#include "node/learner/trainer.h"
#include "node/learner/training_memory.h"

namespace tributary::learner {

struct LearnerOptions {
  link::FederationClientOptions client;  // the learner sets its capabilities and sample_count
  // Keeps error feedback and the trainer's state; empty: a restart begins without them.
  std::string state_file;
  // For training; 0: what the process may still take when a run begins, without `reserved_bytes`.
  std::uint64_t memory_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // that the rest of the process may still take
};

// Owns the trainer and the client. Declines a task that needs more memory than this node has for it
// (training_memory.h), before it allocates: panels in this process must not end with it. Only the update,
// counts and metrics leave the node.
//
// Stops a round that the aggregator no longer wants between two steps. Counts, logs and declines a task that
// it cannot do: a model for images of another side, diverging training, a damaged file. So the aggregator
// shows the reason and does not wait.
class Learner {
 public:
  // Clock and metrics outlive the learner. The learner outlives the metrics' last reader.
  Learner(LearnerOptions options, std::unique_ptr<Trainer> trainer, const runtime::Clock& clock,
          runtime::Metrics& metrics);
  ~Learner();  // Stop()

  void Start();
  // Stops the round under way; returns within one step's time.
  void Stop();

  v1::ParentState state() const { return client_->state(); }
  absl::Status last_error() const { return client_->last_error(); }  // of the stream of tasks
  LearnerCounters counters() const { return metrics_.counters(); }
  link::FederationClient::Counters link_counters() const { return client_->counters(); }

 private:
  void Run(const std::stop_token& stop);
  // The trainer's samples may change when a program of the user's starts again.
  void DeclareSamples();
  // `decline`: the error's meaning for the aggregator; empty: none.
  absl::Status DoRound(const link::FederationClient::Assignment& assignment,
                       std::optional<v1::DeclineTaskRequest>& decline);
  absl::Status DoRoundInMemory(const link::FederationClient::Assignment& assignment,
                               std::optional<v1::DeclineTaskRequest>& decline);
  void Decline(const link::FederationClient::Assignment& assignment, v1::DeclineTaskRequest decline,
               std::string message);
  // The trainer is ready for this task.
  bool IsPreparedFor(const wire::TrainTask& task) const;
  // Gives back what the last run held, and measures what there is for the next.
  void Forget();
  absl::Status Afford(std::uint64_t bytes, const std::string& what);
  absl::Status Prepare(const wire::TrainTask& task);
  absl::Status Restore(const wire::TrainTask& task);
  void AddResidualAndClip(const wire::TrainTask& task);
  absl::StatusOr<link::SubmitAnswer> Send(const link::FederationClient::Assignment& assignment,
                                          const v1::UpdateMetrics& training);
  absl::StatusOr<link::SubmitAnswer> SendMasked(const link::FederationClient::Assignment& assignment,
                                                const v1::UpdateMetrics& training);
  // Takes the aggregator's answer to the update into account for later rounds.
  absl::Status EndRound(const wire::TrainTask& task, const link::SubmitAnswer& answer,
                        const v1::UpdateMetrics& training);
  absl::Status Keep(const std::string& run);
  // Writes a line that a task has caused, at a limited rate: an aggregator may ask for any number of rounds.
  void Say(runtime::LogLevel level, const std::string& line);

  const LearnerOptions options_;
  const runtime::Clock& clock_;
  LearnerMetrics metrics_;
  runtime::LogLimit lines_{100, 1'000'000'000};

  // The learner's thread.
  LearnerCounters counted_;  // published before each call that may be retried
  const std::unique_ptr<Trainer> trainer_;
  std::optional<wire::TrainTask> prepared_for_;
  TrainingMemory memory_;
  std::vector<float> update_;
  std::vector<parameters::StatisticRange> statistics_;  // of the task's model
  std::vector<float> residual_;                         // of the last accepted update
  std::vector<float> remainder_;                        // of the update under way

  std::unique_ptr<link::FederationClient> client_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::learner
