#include "core/nn/beacon/beacon_retraining.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
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

// The prior's weights θ₀ as a Gaussian: (θ - θ₀)ᵀ Λ (θ - θ₀) beside the samples' squared errors. Λ is the
// inverse of the prior's F·Fᵀ, scaled to the trace that the given number of samples has.
class ProblemWithPrior final : public LeastSquaresProblem {
 public:
  ProblemWithPrior(const BeaconProblem& samples, const BeaconNetwork& prior, double prior_samples)
      : samples_(samples), mean_(Vector(prior.parameters)) {
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    constexpr Eigen::Index kSize = BeaconNetwork::kParameters;
    const Eigen::Map<const Rows> factor(prior.parameter_factor.data(), kSize, kSize);
    const Eigen::MatrixXd inverse =
        factor.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(kSize, kSize));
    precision_ = inverse.transpose() * inverse;
    NormalEquations equations(BeaconNetwork::kParameters);
    samples.Linearise(prior.parameters, equations);
    const double patterns = static_cast<double>(samples.errors()) / BeaconNetwork::kOutputs;
    precision_ *= prior_samples / patterns * equations.matrix.trace() / precision_.trace();
  }

  std::size_t parameters() const override { return samples_.parameters(); }
  std::size_t errors() const override { return samples_.errors(); }

  void Linearise(std::span<const double> parameters, NormalEquations& equations) const override {
    samples_.Linearise(parameters, equations);
    const Eigen::VectorXd away = Vector(parameters) - mean_;
    const Eigen::VectorXd pull = precision_ * away;
    equations.matrix += precision_;
    equations.gradient += pull;
    equations.squared_error += away.dot(pull);
  }

  double SquaredError(std::span<const double> parameters) const override {
    const Eigen::VectorXd away = Vector(parameters) - mean_;
    return samples_.SquaredError(parameters) + away.dot(precision_ * away);
  }

 private:
  static Eigen::Map<const Eigen::VectorXd> Vector(std::span<const double> values) {
    return {values.data(), static_cast<Eigen::Index>(values.size())};
  }

  const BeaconProblem& samples_;
  const Eigen::VectorXd mean_;
  Eigen::MatrixXd precision_;
};

// What the prior says of those places of its reach to which no sample is near: trained on a corner of a place
// alone, a network is metres off elsewhere.
void AddUnvisited(const BeaconNetwork& prior, std::span<const BeaconPattern> patterns,
                  BeaconPatterns& training) {
  constexpr double kNearM = 1;
  std::vector<BeaconInputs> visited_m(patterns.size());
  std::ranges::transform(patterns, visited_m.begin(),
                         [&](const BeaconPattern& each) { return RangesOf(prior, each.inputs); });
  for (std::size_t i = 0; i + BeaconNetwork::kInputs <= prior.reach_m.size(); i += BeaconNetwork::kInputs) {
    const BeaconInputs place_m = {prior.reach_m[i], prior.reach_m[i + 1], prior.reach_m[i + 2]};
    const bool visited = std::ranges::any_of(visited_m, [&](const BeaconInputs& each) {
      return std::hypot(each[0] - place_m[0], each[1] - place_m[1], each[2] - place_m[2]) < kNearM;
    });
    if (visited) continue;
    training.inputs.push_back(NormaliseRanges(prior, place_m));
    training.targets.push_back(BeaconForward(prior.parameters, training.inputs.back()));
  }
}

// A network without a usable factor has nothing to say about its weights.
bool HasFactor(const BeaconNetwork& network) {
  constexpr std::size_t kSize = BeaconNetwork::kParameters;
  if (network.parameter_factor.size() != kSize * kSize) return false;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (!(network.parameter_factor[i * (kSize + 1)] > 0)) return false;
  }
  return true;
}

// A network that was trained on patterns, with the error of those that were held out.
struct BeaconFit {
  BeaconNetwork network;  // reach and deviation are the old one's
  int epochs = 0;
  double error_before = 0;
  double error = 0;
};

absl::StatusOr<BeaconFit> FitFrom(const BeaconNetwork& network, std::span<const BeaconPattern> patterns,
                                  const BeaconRetrainingOptions& options) {
  BeaconPatterns training, held_out;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::size_t block = i * kPatternBlocks / patterns.size();
    BeaconPatterns& part = block % kJudgingEvery == kJudgingEvery - 1 ? held_out : training;
    part.inputs.push_back(patterns[i].inputs);
    part.targets.push_back(patterns[i].targets);
  }
  if (options.prior != nullptr) AddUnvisited(*options.prior, patterns, training);
  const BeaconProblem samples(training.inputs, training.targets);
  const BeaconProblem judge(held_out.inputs, held_out.targets);
  std::optional<ProblemWithPrior> with_prior;
  if (options.prior != nullptr && HasFactor(*options.prior)) {
    with_prior.emplace(samples, *options.prior, options.prior_samples);
  }
  const LeastSquaresProblem& problem =
      with_prior ? static_cast<const LeastSquaresProblem&>(*with_prior) : samples;

  LevenbergMarquardtOptions minimiser;
  minimiser.max_epochs = options.max_epochs;
  minimiser.validation = [&](std::span<const double> parameters) { return RmsOfPatterns(judge, parameters); };
  minimiser.withdrawn = options.withdrawn;
  const auto minimise = [&](const BeaconParameters& start) -> absl::StatusOr<LevenbergMarquardtResult> {
    ASSIGN_OR_RETURN(LevenbergMarquardtResult result, MinimiseLevenbergMarquardt(problem, start, minimiser));
    if (result.stop == LevenbergMarquardtStop::kWithdrawn) return absl::CancelledError("withdrawn");
    return result;
  };
  ASSIGN_OR_RETURN(LevenbergMarquardtResult found, minimise(network.parameters));
  // The network may have learned a corner of the place too well: the prior knows all of it.
  if (with_prior && options.prior->parameters != network.parameters) {
    ASSIGN_OR_RETURN(LevenbergMarquardtResult other, minimise(options.prior->parameters));
    if (other.validation < found.validation) found = std::move(other);
  }
  RoundWeights(found.parameters, options.weight_step);
  BeaconFit fit{.network = network,
                .epochs = found.epochs,
                .error_before = RmsOfPatterns(judge, network.parameters),
                .error = RmsOfPatterns(judge, found.parameters)};
  std::ranges::copy(found.parameters, fit.network.parameters.begin());
  fit.network.parameter_factor = FactorOfInverse(problem, fit.network.parameters);
  return fit;
}

absl::StatusOr<double> DeviationOverFolds(const BeaconNetwork& network,
                                          std::span<const BeaconPattern> patterns,
                                          const BeaconRetrainingOptions& options) {
  double sum = 0;
  for (std::size_t fold = 0; fold < options.calibration_folds; ++fold) {
    const std::size_t first = patterns.size() * fold / options.calibration_folds;
    const std::size_t end = patterns.size() * (fold + 1) / options.calibration_folds;
    std::vector<BeaconPattern> others(patterns.begin(),
                                      patterns.begin() + static_cast<std::ptrdiff_t>(first));
    others.insert(others.end(), patterns.begin() + static_cast<std::ptrdiff_t>(end), patterns.end());
    ASSIGN_OR_RETURN(BeaconFit fit, FitFrom(network, others, options));
    fit.network.residual_deviation_m = 1;
    fit.network.reach_m.clear();
    for (const BeaconPattern& each : patterns.subspan(first, end - first)) {
      sum +=
          BeaconSquaredError(fit.network, RangesOf(network, each.inputs), PositionOf(network, each.targets));
    }
  }
  return std::sqrt(sum / (2.0 * static_cast<double>(patterns.size())));
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
  ASSIGN_OR_RETURN(BeaconFit fit, FitFrom(network, patterns, options));
  BeaconRetraining result{.network = network,
                          .epochs = fit.epochs,
                          .error_before = fit.error_before,
                          .error_after = fit.error_before};
  if (!(fit.error < fit.error_before)) return result;

  fit.network.residual_deviation_m = fit.error * network.output_scale_m;
  if (options.calibration_folds > 1) {
    ASSIGN_OR_RETURN(const double deviation_m, DeviationOverFolds(network, patterns, options));
    fit.network.residual_deviation_m = std::max(fit.network.residual_deviation_m, deviation_m);
  }
  std::vector<BeaconInputs> ranges_m(patterns.size());
  std::ranges::transform(patterns, ranges_m.begin(),
                         [&](const BeaconPattern& each) { return RangesOf(network, each.inputs); });
  MarkReach(ranges_m, fit.network);
  result.network = std::move(fit.network);
  result.error_after = fit.error;
  result.taken = true;
  return result;
}

}  // namespace tributary::nn
