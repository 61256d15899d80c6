// Trains a positioning network further on snapshots that this node's panel took at measured positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/positioning/phase_alignment.h"
#include "core/nn/positioning/positioning_network.h"
#include "node/learner/model_outline.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

struct PanelPoints {
  std::vector<float> features;   // raw, [n × 1024]
  std::vector<float> positions;  // in the panel's frame, m, [n × 2]

  std::size_t count() const { return positions.size() / 2; }
  nn::ConstFeatureSpan snapshot(std::size_t n) const {
    return std::span(features)
        .subspan(n * nn::PositioningNetwork::kInputs)
        .first<nn::PositioningNetwork::kInputs>();
  }
  // Adds the nth point of others.
  void Append(const PanelPoints& others, std::size_t n);
};

// Owns the points, and holds a part of them out, to which it fits the covariance scale. A round is one cycle
// of the learning rate over `local_steps` steps of Adam, `batch` points each, drawn at random and changed as
// other hardware would (recordings::AugmentSnapshot). The update moves weights, covariance scale and
// activation ranges, so that the committed model has the mean of what the nodes found. Keeps nothing between
// rounds.
class PositioningTrainer : public Trainer {
 public:
  // `node`: its name, which seeds what is held out and the draws. `held_out`: a part of the points, 0 to 1,
  // rounded down; with none the covariance scale stays.
  PositioningTrainer(const PanelPoints& points, std::string node, double held_out);

  std::string_view workload() const override { return "positioning"; }
  std::uint64_t sample_count() const override { return trained_on_.count(); }
  std::string_view sample_name() const override { return "point"; }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;

 private:
  // Standardised features [n × 1024] and targets [n × 2].
  void Draw(nn::RandomStream& random, std::span<float> features, std::span<float> targets) const;
  // Trains network_ and gives the mean loss. Errors: Cancelled.
  absl::StatusOr<double> Descend(const wire::TrainTask& task, const std::stop_token& withdrawn);
  // Covariance scale and ranges of the trained network.
  void Calibrate();

  const std::string node_;
  PanelPoints trained_on_, held_out_;
  ModelOutline outline_;            // of the last Plan's model
  nn::PositioningNetwork network_;  // of the last Plan, then of the round
};

}  // namespace tributary::learner
