#include "node/learner/positioning_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/positioning/positioning_calibration.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_trainer.h"
#include "core/recordings/snapshot_augmentation.h"
#include "core/status/macros.h"
#include "node/learner/held_out.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {
namespace {

constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
constexpr double kPointsOfRate = 256;  // client.learning_rate is for so many points a step
// As if so many further points had agreed with the covariance scale.
constexpr double kScalePrior = 10;
constexpr std::size_t kRangePoints = 1'024;  // that show the ranges of the activations
constexpr std::size_t kJudgedTogether = 64;

// (point − mean)ᵀ Σ⁻¹ (point − mean).
double SquaredDistance(const nn::GaussianPosition& position, std::span<const float, 2> point) {
  const auto& [l11, l21, l22] = position.cholesky;
  const double x = (point[0] - position.mean[0]) / l11;
  const double y = (point[1] - position.mean[1] - l21 * x) / l22;
  return x * x + y * y;
}

std::vector<double> SquaredDistances(const nn::PositioningNetwork& network, const PanelPoints& points) {
  nn::PositioningInference inference(network, kJudgedTogether);
  std::vector<float> outputs(kJudgedTogether * nn::kGaussianOutputs);
  std::vector<double> squared;
  for (std::size_t first = 0; first < points.count(); first += kJudgedTogether) {
    const std::size_t count = std::min(kJudgedTogether, points.count() - first);
    inference.Run(std::span(points.features).subspan(first * kInputs), count, outputs);
    for (std::size_t i = 0; i < count; ++i) {
      const auto position = nn::PositionFromOutputs(
          network, std::span(outputs).subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
      squared.push_back(
          SquaredDistance(position, std::span(points.positions).subspan(2 * (first + i)).first<2>()));
    }
  }
  return squared;
}

}  // namespace

void PanelPoints::Append(const PanelPoints& others, std::size_t n) {
  const nn::ConstFeatureSpan from = others.snapshot(n);
  features.insert(features.end(), from.begin(), from.end());
  positions.push_back(others.positions[2 * n]);
  positions.push_back(others.positions[2 * n + 1]);
}

PositioningTrainer::PositioningTrainer(const PanelPoints& points, std::string node, double held_out)
    : node_(std::move(node)) {
  HoldOut(points, node_, held_out, held_out_, trained_on_);
}

absl::StatusOr<TrainingPlan> PositioningTrainer::Plan(const wire::TrainTask& task,
                                                      const parameters::TensorSet& model) {
  ASSIGN_OR_RETURN(network_, ReadLeniently(model, nn::PositioningFromTensors));
  if (trained_on_.count() == 0) {
    return absl::FailedPreconditionError("this node has no labelled point to learn from");
  }
  outline_ = ModelOutline(model);
  const std::uint64_t batch = task.train.settings().batch();
  const std::uint64_t judged = std::min(kRangePoints, trained_on_.count());
  return TrainingPlan{.bytes = nn::PositioningTrainerBytes(batch) + sizeof(float) * batch * (kInputs + 2) +
                               2 * sizeof(float) * kInputs * (judged + kJudgedTogether) +
                               sizeof(double) * held_out_.count(),
                      .what = fmt::format("a batch of {} points through a positioning network", batch)};
}

absl::Status PositioningTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                       const std::stop_token& withdrawn, std::span<float> update,
                                       v1::UpdateMetrics& metrics) {
  RETURN_IF_ERROR(nn::CheckFinite(global));
  ASSIGN_OR_RETURN(network_, ReadLeniently(outline_.Model(global), nn::PositioningFromTensors));
  ASSIGN_OR_RETURN(const double loss, Descend(task, withdrawn));
  if (!std::isfinite(loss) ||
      !std::ranges::all_of(network_.weights, [](const auto& layer) { return nn::CheckFinite(layer).ok(); })) {
    return absl::OutOfRangeError("training diverged: lower the learning rate");
  }
  Calibrate();
  ASSIGN_OR_RETURN(const std::vector<float> trained, outline_.Values(nn::PositioningTensors(network_)));
  std::ranges::transform(trained, global, update.begin(), std::minus());
  metrics.set_loss(loss);
  return absl::OkStatus();
}

void PositioningTrainer::Draw(nn::RandomStream& random, std::span<float> features,
                              std::span<float> targets) const {
  for (std::size_t i = 0; i < targets.size() / 2; ++i) {
    const std::size_t n = random.Below(trained_on_.count());
    const nn::FeatureSpan sample = features.subspan(i * kInputs).first<kInputs>();
    std::ranges::copy(trained_on_.snapshot(n), sample.begin());
    recordings::AugmentSnapshot({}, random, sample);
    nn::AlignPhase(network_.alignment, sample);
    nn::Standardise(network_, sample);
    targets[2 * i] = trained_on_.positions[2 * n];
    targets[2 * i + 1] = trained_on_.positions[2 * n + 1];
  }
}

absl::StatusOr<double> PositioningTrainer::Descend(const wire::TrainTask& task,
                                                   const std::stop_token& withdrawn) {
  const v1::ClientSettings& settings = task.train.settings();
  const std::uint64_t steps = settings.local_steps();
  nn::PositioningTrainer trainer(
      {.batch = settings.batch(),
       .steps = steps,
       .peak_learning_rate = settings.learning_rate() * settings.batch() / kPointsOfRate,
       .from = &network_});
  auto random = nn::RandomStream::Of(NodeSeed(settings.seed(), node_), task.round);
  std::vector<float> features(settings.batch() * kInputs), targets(settings.batch() * 2);
  double loss = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (withdrawn.stop_requested()) return absl::CancelledError("training was interrupted");
    Draw(random, features, targets);
    loss += trainer.Step(features, targets) / static_cast<double>(steps);
  }
  trainer.Export(network_);
  return loss;
}

void PositioningTrainer::Calibrate() {
  const std::vector<double> squared = SquaredDistances(network_, held_out_);
  if (!squared.empty()) {
    network_.covariance_scale *= static_cast<float>(nn::DeviationFactor(squared, kScalePrior));
  }
  const std::size_t seen = std::min(kRangePoints, trained_on_.count());
  network_.activation_range = nn::RangesOf(network_, std::span(trained_on_.features).first(seen * kInputs));
}

}  // namespace tributary::learner
