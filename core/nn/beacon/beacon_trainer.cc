#include "core/nn/beacon/beacon_trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/nn/beacon/beacon_problem.h"
#include "core/nn/beacon/beacon_uncertainty.h"
#include "core/nn/optimise/levenberg_marquardt.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::int64_t kHeldOutEvery = 5;  // blocks of time

// Contiguous parts of the examples for the fit of s. Each part is estimated by a network trained on the
// others: what a board meets later is further from its training set than a block between two that it has
// seen.
constexpr std::size_t kCalibrationFolds = 4;
constexpr int kCalibrationRuns = 3;

bool Finite(const BeaconExample& example) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::ranges::all_of(example.ranges_m, finite) && std::ranges::all_of(example.position_m, finite);
}

void FitNormalisation(std::span<const BeaconExample> examples, BeaconNetwork& network) {
  const auto spread = [&](auto value) {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -lowest;
    for (const BeaconExample& example : examples) {
      lowest = std::min(lowest, value(example));
      highest = std::max(highest, value(example));
    }
    return std::pair((lowest + highest) / 2, std::max((highest - lowest) / 2, 1e-3) * kBeaconMargin);
  };
  for (std::size_t i = 0; i < BeaconNetwork::kInputs; ++i) {
    const auto [centre, half] = spread([i](const BeaconExample& e) { return e.ranges_m[i]; });
    network.input_offset_m[i] = centre;
    network.input_gain_per_m[i] = 1.0 / half;
  }
  network.output_scale_m = 0.0;
  for (std::size_t o = 0; o < BeaconNetwork::kOutputs; ++o) {
    const auto [centre, half] = spread([o](const BeaconExample& e) { return e.position_m[o]; });
    network.output_centre_m[o] = centre;
    network.output_scale_m = std::max(network.output_scale_m, half);
  }
}

// The best of several runs, without calibration; residual_deviation_m comes from the held-out blocks.
absl::StatusOr<BeaconNetwork> Fit(std::span<const BeaconExample> examples,
                                  const BeaconTrainingOptions& options) {
  BeaconNetwork network;
  FitNormalisation(examples, network);
  BeaconPatterns training;
  BeaconPatterns held_out;
  for (const BeaconExample& example : examples) {
    const std::int64_t block = (example.unix_ns - examples.front().unix_ns) / options.block_ns;
    const bool hold = block % kHeldOutEvery == kHeldOutEvery - 1;
    AddPattern(network, example, hold ? held_out : training);
  }
  if (training.inputs.size() < BeaconNetwork::kParameters ||
      held_out.inputs.size() < BeaconNetwork::kParameters) {
    return absl::InvalidArgumentError(absl::StrCat(training.inputs.size(), " examples to train from and ",
                                                   held_out.inputs.size(), " held out; ",
                                                   BeaconNetwork::kParameters, " of each are needed"));
  }

  const BeaconProblem problem(training.inputs, training.targets);
  const BeaconProblem validation(held_out.inputs, held_out.targets);
  const auto rms_m = [&](std::span<const double> parameters) {
    const double mean = validation.SquaredError(parameters) / static_cast<double>(validation.errors());
    return network.output_scale_m * std::sqrt(mean);
  };
  std::mt19937_64 random(options.seed);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 1; run <= options.runs; ++run) {
    LevenbergMarquardtOptions minimiser;
    minimiser.max_epochs = options.max_epochs;
    minimiser.validation = rms_m;
    ASSIGN_OR_RETURN(const LevenbergMarquardtResult result,
                     MinimiseLevenbergMarquardt(problem, RandomBeaconStart(random), minimiser));
    if (result.validation < best) {
      best = result.validation;
      std::ranges::copy(result.parameters, network.parameters.begin());
    }
    if (options.progress) options.progress({run, options.runs, result.epochs, result.validation, best});
  }
  network.residual_deviation_m = best;
  network.parameter_factor = FactorOfInverse(problem, network.parameters);
  return network;
}

// Normalised as if s were 1.
double SquaredErrors(std::span<const BeaconExample> examples, BeaconNetwork& network) {
  network.residual_deviation_m = 1.0;
  return std::transform_reduce(examples.begin(), examples.end(), 0.0, std::plus<>(),
                               [&network](const BeaconExample& each) {
                                 return BeaconSquaredError(network, each.ranges_m, each.position_m);
                               });
}

double DeviationOf(double squared_errors, std::size_t examples) {
  return std::sqrt(squared_errors / (2.0 * static_cast<double>(examples)));
}

void MarkReachOf(std::span<const BeaconExample> examples, BeaconNetwork& network) {
  std::vector<BeaconInputs> ranges_m(examples.size());
  std::ranges::transform(examples, ranges_m.begin(), &BeaconExample::ranges_m);
  MarkReach(ranges_m, network);
}

absl::StatusOr<double> CalibratedDeviation(std::span<const BeaconExample> examples,
                                           const BeaconTrainingOptions& options) {
  BeaconTrainingOptions fold_options = options;
  fold_options.runs = kCalibrationRuns;
  fold_options.progress = nullptr;
  double sum = 0.0;
  for (std::size_t fold = 0; fold < kCalibrationFolds; ++fold) {
    const std::size_t first = examples.size() * fold / kCalibrationFolds;
    const std::size_t end = examples.size() * (fold + 1) / kCalibrationFolds;
    std::vector<BeaconExample> others(examples.begin(),
                                      examples.begin() + static_cast<std::ptrdiff_t>(first));
    others.insert(others.end(), examples.begin() + static_cast<std::ptrdiff_t>(end), examples.end());
    ASSIGN_OR_RETURN(BeaconNetwork network, Fit(others, fold_options));
    sum += SquaredErrors(examples.subspan(first, end - first), network);
  }
  return DeviationOf(sum, examples.size());
}

}  // namespace

void AddPattern(const BeaconNetwork& network, const BeaconExample& example, BeaconPatterns& patterns) {
  patterns.inputs.push_back(NormaliseRanges(network, example.ranges_m));
  BeaconOutputs target;
  for (std::size_t o = 0; o < BeaconNetwork::kOutputs; ++o) {
    target[o] = (example.position_m[o] - network.output_centre_m[o]) / network.output_scale_m;
  }
  patterns.targets.push_back(target);
}

std::array<double, BeaconNetwork::kParameters> RandomBeaconStart(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::array<double, BeaconNetwork::kParameters> start;
  for (double& p : start) p = uniform(random);
  for (std::size_t i = BeaconNetwork::kLayer1; i < BeaconNetwork::kParameters; ++i)
    start[i] /= std::sqrt(double{BeaconNetwork::kHidden});
  return start;
}

absl::StatusOr<BeaconNetwork> TrainBeacon(std::span<const BeaconExample> examples,
                                          const BeaconTrainingOptions& options) {
  if (!std::ranges::all_of(examples, Finite)) return absl::InvalidArgumentError("an example is not finite");
  if (examples.empty()) return absl::InvalidArgumentError("no example to train from");
  ASSIGN_OR_RETURN(BeaconNetwork network, Fit(examples, options));
  ASSIGN_OR_RETURN(network.residual_deviation_m, CalibratedDeviation(examples, options));
  MarkReachOf(examples, network);
  return network;
}

absl::Status CalibrateBeacon(std::span<const BeaconExample> examples, BeaconNetwork& network) {
  if (!std::ranges::all_of(examples, Finite)) return absl::InvalidArgumentError("an example is not finite");
  if (examples.size() < BeaconNetwork::kParameters) {
    return absl::InvalidArgumentError(absl::StrCat(examples.size(), " examples to calibrate with, ",
                                                   BeaconNetwork::kParameters, " are needed"));
  }
  BeaconPatterns patterns;
  for (const BeaconExample& example : examples) AddPattern(network, example, patterns);
  network.parameter_factor =
      FactorOfInverse(BeaconProblem(patterns.inputs, patterns.targets), network.parameters);
  network.residual_deviation_m = DeviationOf(SquaredErrors(examples, network), examples.size());
  MarkReachOf(examples, network);
  return absl::OkStatus();
}

}  // namespace tributary::nn
