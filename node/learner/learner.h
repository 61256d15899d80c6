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
#include "core/link/federation_client.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "node/learner/learner_metrics.h"
#include "node/learner/learner_state.h"
#include "node/learner/self_supervised.h"

namespace tributary::learner {

struct LearnerOptions {
  link::FederationClientOptions client;  // what it can do, and its sample_count, are the learner's to say
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
  Learner(LearnerOptions options, images::ImageSet images, const runtime::Clock& clock,
          runtime::Metrics& metrics);
  ~Learner();  // Stop()

  void Start();
  // Gives up what is under way; returns within a step's time.
  void Stop();

  link::FederationState state() const { return client_->state(); }
  LearnerCounters counters() const { return metrics_.counters(); }
  link::FederationClient::Counters link_counters() const { return client_->counters(); }
  std::size_t image_count() const { return images_.count(); }

 private:
  void Run();
  // `decline`: what an error means to the aggregator; empty: nothing.
  absl::Status DoRound(const link::FederationClient::Assignment& assignment,
                       std::optional<parameters::TaskDecline>& decline);
  absl::Status DoRoundInMemory(const link::FederationClient::Assignment& assignment,
                               std::optional<parameters::TaskDecline>& decline);
  void Decline(const link::FederationClient::Assignment& assignment, parameters::TaskDecline decline,
               std::string message);
  absl::Status Prepare(const wire::TrainTask& task, const nn::EncoderFile& model);
  absl::Status Restore(const wire::TrainTask& task);
  void AddResidualAndClip(const wire::TrainTask& task);
  absl::StatusOr<link::SubmitAnswer> Send(const link::FederationClient::Assignment& assignment,
                                          const parameters::TrainingMetrics& training);
  absl::StatusOr<link::SubmitAnswer> SendMasked(const link::FederationClient::Assignment& assignment,
                                                const parameters::TrainingMetrics& training);
  // What the aggregator said to the update counts for the rounds after.
  absl::Status EndRound(const wire::TrainTask& task, const link::SubmitAnswer& answer,
                        const parameters::TrainingMetrics& training);
  absl::Status Keep(const std::string& run);

  const LearnerOptions options_;
  const images::ImageSet images_;
  const runtime::Clock& clock_;
  LearnerMetrics metrics_;

  // The learner's thread.
  std::unique_ptr<SelfSupervisedWorkload> workload_;  // of the run below
  wire::TrainTask prepared_for_;
  std::vector<float> update_;
  std::vector<float> residual_;      // of the last accepted update
  std::vector<float> remainder_;     // of the update under way
  std::vector<std::int32_t> words_;  // that are masked

  std::unique_ptr<link::FederationClient> client_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::learner
