#include "node/learner/beacon_trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/beacon_sums.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/nn/optimise/levenberg_marquardt.h"
#include "core/status/macros.h"

namespace tributary::learner {
namespace {

using nn::BeaconPlaces;

// A pattern as examples have it, normalised and in the planes of the problem.
constexpr std::uint64_t kPatternBytes =
    2 * sizeof(double) * (nn::BeaconNetwork::kInputs + nn::BeaconNetwork::kOutputs);
constexpr std::uint64_t kEquationsBytes = 1 << 17;  // a few matrices of 62 × 62

absl::Status SendSums(const nn::BeaconProblem& problem, std::size_t patterns, std::span<const float> global,
                      std::span<float> update, v1::UpdateMetrics& metrics) {
  nn::BeaconSums sums;
  problem.Linearise(nn::ParametersAt(global), sums.equations);
  sums.patterns = static_cast<double>(patterns);
  metrics.set_loss(sums.MeanSquaredError());
  return nn::PackBeaconSums(sums, update.subspan(BeaconPlaces::kSums));
}

absl::Status TrainEpochs(const nn::BeaconProblem& problem, int epochs, const std::stop_token& withdrawn,
                         std::span<const float> global, std::span<float> update, v1::UpdateMetrics& metrics) {
  nn::LevenbergMarquardtOptions options;
  options.max_epochs = epochs;
  options.withdrawn = [&withdrawn] { return withdrawn.stop_requested(); };
  const nn::BeaconParameters start = nn::ParametersAt(global);
  const auto result = nn::MinimiseLevenbergMarquardt(problem, start, options);
  if (!result.ok()) return absl::OutOfRangeError(result.status().message());
  if (result->stop == nn::LevenbergMarquardtStop::kWithdrawn) return absl::CancelledError("withdrawn");
  for (std::size_t i = 0; i < start.size(); ++i) {
    update[BeaconPlaces::kLayers + i] = static_cast<float>(result->parameters[i] - start[i]);
  }
  metrics.set_loss(result->mean_squared_error);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingPlan> BeaconTrainer::Plan(const wire::TrainTask& /*task*/,
                                                 const parameters::TensorSet& model) {
  ASSIGN_OR_RETURN(nn::FederatedBeacon beacon, nn::FederatedBeaconFromTensors(model));
  network_ = std::move(beacon.network);
  if (network_.anchors != examples_.anchors || network_.tag != examples_.tag) {
    return absl::FailedPreconditionError(fmt::format(
        "this node has ranges of the anchors {} to tag {}, the run trains {} to tag {}",
        fmt::join(examples_.anchors, ","), examples_.tag, fmt::join(network_.anchors, ","), network_.tag));
  }
  return TrainingPlan{.bytes = kEquationsBytes + kPatternBytes * sample_count(),
                      .what = fmt::format("{} examples of a beacon", sample_count())};
}

absl::Status BeaconTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                  const std::stop_token& withdrawn, std::span<float> update,
                                  v1::UpdateMetrics& metrics) {
  if (!std::ranges::all_of(global, [](float value) { return std::isfinite(value); })) {
    return absl::InvalidArgumentError("a parameter of the model is not finite");
  }
  nn::BeaconPatterns patterns;
  for (const nn::BeaconExample& example : examples_.examples) nn::AddPattern(network_, example, patterns);
  const nn::BeaconProblem problem(patterns.inputs, patterns.targets);
  std::ranges::fill(update, 0.0F);
  if (global.size() == BeaconPlaces::kSecondOrderElements) {
    return SendSums(problem, patterns.inputs.size(), global, update, metrics);
  }
  return TrainEpochs(problem, static_cast<int>(task.train.settings().local_steps()), withdrawn, global,
                     update, metrics);
}

}  // namespace tributary::learner
