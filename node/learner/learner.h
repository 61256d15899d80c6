// A node's part in federated runs: tasks in, updates out, on a thread of its own.
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
#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/link/federation_client.h"
#include "node/learner/learner_metrics.h"
#include "node/learner/learner_state.h"
#include "node/learner/self_supervised.h"

namespace tributary {

struct LearnerOptions {
  FederationClientOptions client;  // what it can do, and its sample_count, are the learner's to say
  // Keeps error feedback, FedEMA's local model and which images are in the buffer; empty: a restart begins
  // without them.
  std::string state_file;
  std::size_t buffer = 0;  // images in the buffer of the most novel ones; 0: none, every image is kept
};

// Owns the images, the training and the client. Memory: the images, the network's buffers and five vectors of
// the model's length; where a run masks updates, one of words instead of error feedback's two. What leaves is
// the update, counts and metrics.
//
// A round that the aggregator no longer wants is given up between two steps. What cannot be done (a model of
// images of another side, training that diverges, a damaged file) is counted, logged and declined, so that
// the aggregator shows it and waits for nothing.
class Learner {
 public:
  // Clock and metrics outlive the learner; so does the learner the last reader of the metrics.
  Learner(LearnerOptions options, ImageSet images, const Clock& clock, Metrics& metrics);
  ~Learner();  // Stop()

  void Start();
  // Gives up what is under way; returns within a step's time.
  void Stop();

  FederationState state() const { return client_->state(); }
  LearnerCounters counters() const { return metrics_.counters(); }
  FederationClient::Counters link_counters() const { return client_->counters(); }
  std::size_t image_count() const { return images_.count(); }

 private:
  void Run();
  // `decline`: what an error means to the aggregator; empty: nothing.
  absl::Status DoRound(const FederationClient::Assignment& assignment, std::optional<TaskDecline>& decline);
  absl::Status DoRoundInMemory(const FederationClient::Assignment& assignment,
                               std::optional<TaskDecline>& decline);
  void Decline(const FederationClient::Assignment& assignment, TaskDecline decline, std::string message);
  absl::Status Prepare(const TrainTask& task, const EncoderFile& model);
  absl::Status Restore(const TrainTask& task);
  void AddResidualAndClip(const TrainTask& task);
  absl::StatusOr<SubmitAnswer> Send(const FederationClient::Assignment& assignment,
                                    const TrainingMetrics& training);
  absl::StatusOr<SubmitAnswer> SendMasked(const FederationClient::Assignment& assignment,
                                          const TrainingMetrics& training);
  // What the aggregator said to the update counts for the rounds after.
  absl::Status EndRound(const TrainTask& task, const SubmitAnswer& answer, const TrainingMetrics& training);
  absl::Status Keep(const std::string& run);

  const LearnerOptions options_;
  const ImageSet images_;
  const Clock& clock_;
  LearnerMetrics metrics_;

  // The learner's thread.
  std::unique_ptr<SelfSupervisedWorkload> workload_;  // of the run below
  TrainTask prepared_for_;
  std::vector<float> update_;
  std::vector<float> residual_;      // of the last accepted update
  std::vector<float> remainder_;     // of the update under way
  std::vector<std::int32_t> words_;  // that are masked

  std::unique_ptr<FederationClient> client_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary
