// Trains a modulation network further on this node's recorded bursts.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/recordings/labelled_bursts.h"
#include "node/learner/model_outline.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

// Owns the bursts, and holds a part of them out: by it a round's model is judged, and the temperature is
// fitted to what was trained. A round is one cycle of the learning rate over `local_steps` steps of Adam,
// `batch` bursts each, whose phases are turned anew. The update moves weights, temperature and activation
// ranges, so that the committed model has the mean of what the nodes found. Keeps nothing between rounds.
class ModulationTrainer : public Trainer {
 public:
  // `node`: its name, which seeds what is held out and the order. `held_out`: a part of the bursts, 0 to 1,
  // rounded down; with none the temperature stays.
  ModulationTrainer(const recordings::LabelledBursts& bursts, std::string node, double held_out);

  std::string_view workload() const override { return "modulation"; }
  std::uint64_t sample_count() const override { return trained_on_.count(); }
  std::string_view sample_name() const override { return "burst"; }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;

 private:
  // Trains network_ and gives the mean loss. Errors: Cancelled.
  absl::StatusOr<double> Descend(const wire::TrainTask& task, const std::stop_token& withdrawn);
  // Temperature and ranges of the trained network.
  void Calibrate();

  const std::string node_;
  recordings::LabelledBursts trained_on_, held_out_;
  ModelOutline outline_;           // of the last Plan's model
  nn::ModulationNetwork network_;  // of the last Plan, then of the round
};

}  // namespace tributary::learner
