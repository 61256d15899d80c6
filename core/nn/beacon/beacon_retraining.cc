#include "core/nn/beacon/beacon_retraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/nn/beacon/beacon_uncertainty.h"
#include "core/nn/optimise/levenberg_marquardt.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kPatternBlocks = 20, kJudgingEvery = 5;
constexpr double kWeightLimit = 128;

bool FinitePattern(const BeaconPattern& pattern) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::ranges::all_of(pattern.inputs, finite) && std::ranges::all_of(pattern.targets, finite);
}

bool AllAlike(std::span<const BeaconPattern> patterns) {
  return std::ranges::all_of(
      patterns, [&](const BeaconPattern& each) { return each.inputs == patterns.front().inputs; });
}

double RmsOfPatterns(const BeaconProblem& problem, std::span<const double> parameters) {
  return std::sqrt(problem.SquaredError(parameters) / static_cast<double>(problem.errors()));
}

// As the board has them.
void RoundWeights(std::span<double> parameters, double step) {
  if (step == 0) return;
  for (double& each : parameters) {
    each = std::clamp(std::round(each / step) * step, -kWeightLimit, kWeightLimit - step);
  }
}

}  // namespace

absl::StatusOr<BeaconRetraining> RetrainBeacon(const BeaconNetwork& network,
                                               std::span<const BeaconPattern> patterns,
                                               const BeaconRetrainingOptions& options) {
  if (patterns.size() < kLeastPatterns) {
    return absl::InvalidArgumentError(
        fmt::format("{} samples, a network of {} weights needs as many", patterns.size(), kLeastPatterns));
  }
  if (!std::ranges::all_of(patterns, FinitePattern))
    return absl::InvalidArgumentError("a sample is not finite");
  if (AllAlike(patterns)) return absl::InvalidArgumentError("all samples have the same inputs");
  BeaconPatterns training, held_out;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::size_t block = i * kPatternBlocks / patterns.size();
    BeaconPatterns& part = block % kJudgingEvery == kJudgingEvery - 1 ? held_out : training;
    part.inputs.push_back(patterns[i].inputs);
    part.targets.push_back(patterns[i].targets);
  }
  const BeaconProblem problem(training.inputs, training.targets);
  const BeaconProblem judge(held_out.inputs, held_out.targets);
  BeaconRetraining result{.network = network};
  result.error_before = result.error_after = RmsOfPatterns(judge, network.parameters);

  LevenbergMarquardtOptions minimiser;
  minimiser.max_epochs = options.max_epochs;
  minimiser.validation = [&](std::span<const double> parameters) { return RmsOfPatterns(judge, parameters); };
  ASSIGN_OR_RETURN(LevenbergMarquardtResult found,
                   MinimiseLevenbergMarquardt(problem, network.parameters, minimiser));
  result.epochs = found.epochs;
  RoundWeights(found.parameters, options.weight_step);
  const double error = RmsOfPatterns(judge, found.parameters);
  if (!(error < result.error_before)) return result;

  std::ranges::copy(found.parameters, result.network.parameters.begin());
  result.network.residual_deviation_m = error * network.output_scale_m;
  result.network.parameter_factor = FactorOfInverse(problem, result.network.parameters);
  std::vector<BeaconInputs> ranges_m(patterns.size());
  std::ranges::transform(patterns, ranges_m.begin(),
                         [&](const BeaconPattern& each) { return RangesOf(network, each.inputs); });
  MarkReach(ranges_m, result.network);
  result.error_after = error;
  result.taken = true;
  return result;
}

}  // namespace tributary::nn
