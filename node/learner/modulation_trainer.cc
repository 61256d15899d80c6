#include "node/learner/modulation_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_evaluation.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"
#include "core/radio/burst.h"
#include "core/status/macros.h"
#include "node/learner/held_out.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {
namespace {

constexpr double kBatchOfRate = 256;  // client.learning_rate is for so many samples a step

// All bursts in an order of its own, again and again.
class BurstOrder {
 public:
  BurstOrder(std::size_t count, std::uint64_t seed, std::uint64_t round)
      : random_(nn::RandomStream::Of(seed, round)), order_(count), next_(count) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  void Draw(const recordings::LabelledBursts& bursts, std::size_t count, recordings::LabelledBursts& batch) {
    batch.bursts.clear();
    batch.classes.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (next_ == order_.size()) {
        random_.Shuffle(order_);
        next_ = 0;
      }
      batch.Append(bursts, order_[next_++]);
      // No modulation depends on the phase.
      radio::TurnPhase(random_.Uniform(0, 2 * std::numbers::pi), batch.burst(i));
    }
  }

 private:
  nn::RandomStream random_;
  std::vector<std::size_t> order_;
  std::size_t next_;
};

}  // namespace

ModulationTrainer::ModulationTrainer(const recordings::LabelledBursts& bursts, std::string node,
                                     double held_out)
    : node_(std::move(node)) {
  HoldOut(bursts, node_, held_out, held_out_, trained_on_);
}

absl::StatusOr<TrainingPlan> ModulationTrainer::Plan(const wire::TrainTask& task,
                                                     const parameters::TensorSet& model) {
  ASSIGN_OR_RETURN(network_, ReadLeniently(model, nn::ModulationFromTensors));
  if (trained_on_.count() == 0) {
    return absl::FailedPreconditionError("this node has no labelled burst to learn from");
  }
  outline_ = ModelOutline(model);
  const std::uint64_t batch = task.train.settings().batch();
  const std::uint64_t judged = held_out_.count() * nn::kModulationClasses;  // logits
  return TrainingPlan{.bytes = nn::ModulationTrainerBytes(*network_.architecture, batch) +
                               batch * (radio::kBurstFeatures * sizeof(float) + 1) +
                               trained_on_.count() * sizeof(std::size_t) + judged * sizeof(float),
                      .what = fmt::format("a batch of {} bursts through the network \"{}\"", batch,
                                          network_.architecture->name)};
}

absl::Status ModulationTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                      const std::stop_token& withdrawn, std::span<float> update,
                                      v1::UpdateMetrics& metrics) {
  RETURN_IF_ERROR(nn::CheckFinite(global));
  ASSIGN_OR_RETURN(network_, ReadLeniently(outline_.Model(global), nn::ModulationFromTensors));
  if (held_out_.count() > 0) {
    metrics.set_held_out_accuracy(
        nn::ScoreModulation(network_, held_out_.bursts, held_out_.classes).accuracy);
  }
  ASSIGN_OR_RETURN(const double loss, Descend(task, withdrawn));
  if (!nn::CheckFinite(network_.parameters).ok()) {
    return absl::OutOfRangeError("training diverged: lower the learning rate");
  }
  Calibrate();
  ASSIGN_OR_RETURN(const std::vector<float> trained, outline_.Values(nn::ModulationTensors(network_)));
  std::ranges::transform(trained, global, update.begin(), std::minus());
  metrics.set_loss(loss);
  return absl::OkStatus();
}

absl::StatusOr<double> ModulationTrainer::Descend(const wire::TrainTask& task,
                                                  const std::stop_token& withdrawn) {
  const v1::ClientSettings& settings = task.train.settings();
  const std::uint64_t steps = settings.local_steps();
  nn::ModulationTrainer trainer(
      *network_.architecture,
      {.steps = steps,
       .peak_learning_rate = settings.learning_rate() * settings.batch() / kBatchOfRate,
       .from = network_.parameters});
  BurstOrder order(trained_on_.count(), NodeSeed(settings.seed(), node_), task.round);
  recordings::LabelledBursts batch;
  double loss = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (withdrawn.stop_requested()) return absl::CancelledError("training was interrupted");
    order.Draw(trained_on_, settings.batch(), batch);
    loss += trainer.Step(batch.bursts, batch.classes) / static_cast<double>(steps);
  }
  network_.parameters = trainer.NetworkParameters();
  return loss;
}

void ModulationTrainer::Calibrate() {
  if (held_out_.count() > 0) {
    network_.temperature = nn::ModulationTemperature(network_, held_out_.bursts, held_out_.classes);
  }
  nn::ModulationInference(network_).UpdateRanges(trained_on_.bursts, network_.activation_range);
}

}  // namespace tributary::learner
