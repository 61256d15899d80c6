// Trains a beacon network on this node's recorded ranges and true positions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

// A board's anchors, its tag and what they recorded.
struct BeaconExamples {
  std::array<int, nn::BeaconNetwork::kInputs> anchors = {};
  int tag = 0;
  std::vector<nn::BeaconExample> examples;
};

// For a second-order model the update is the digits of this node's sums at the model's parameters
// (core/nn/beacon/beacon_sums.h), and the number of steps does not matter. For another model the update is
// what `local_steps` epochs of Levenberg-Marquardt change. Keeps nothing between rounds.
class BeaconTrainer : public Trainer {
 public:
  explicit BeaconTrainer(BeaconExamples examples) : examples_(std::move(examples)) {}

  std::string_view workload() const override { return "beacon"; }
  std::uint64_t sample_count() const override { return examples_.examples.size(); }
  std::string_view sample_name() const override { return "example"; }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;

 private:
  const BeaconExamples examples_;
  nn::BeaconNetwork network_;  // of the last Plan: its normalisation
};

}  // namespace tributary::learner
