#include "core/estimate/categorical.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace tributary::estimate {

template <std::floating_point Real>
std::optional<ProbabilityFault> FaultOf(std::span<const Real> log_probabilities) {
  double sum = 0;
  for (const Real value : log_probabilities) {
    if (!(value < HUGE_VAL)) return ProbabilityFault::kNotFinite;
    sum += std::exp(value);
  }
  if (std::abs(sum - 1) <= kSumTolerance) return std::nullopt;
  return ProbabilityFault::kNotNormalised;
}

template <std::floating_point Real>
void ToEvidence(std::span<const Real> log_probabilities, std::span<const Real> log_prior, std::size_t leaves,
                std::span<Real> evidence) {
  for (std::size_t c = 0; c < evidence.size(); ++c) {
    evidence[c] = log_prior.empty() ? log_probabilities[c] : log_probabilities[c] - log_prior[c];
  }
  const Real best = *std::ranges::max_element(evidence);
  const auto floor = static_cast<Real>(-kDeepestEvidence * static_cast<double>(leaves));
  for (Real& value : evidence) value = std::max(value - best, floor);
}

double LogSumExp(std::span<const double> values) {
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - most);
  return most + std::log(sum);
}

template <std::floating_point Real>
void AddEvidence(std::span<const Real> evidence, double weight, std::span<double> sum) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weight * double{evidence[c]};
}

void Normalise(std::span<double> log_weights) {
  const double log_sum = LogSumExp(log_weights);
  for (double& value : log_weights) value -= log_sum;
}

template <std::floating_point Real>
std::string PriorFault(std::span<const Real> probabilities, std::size_t classes) {
  if (probabilities.size() != classes) {
    return absl::StrCat("has ", probabilities.size(), " probabilities for ", classes, " classes");
  }
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    // A single-precision 1e-6 is a little less.
    if (!(probabilities[c] >= static_cast<Real>(kLeastPrior) && probabilities[c] <= 1)) {
      return absl::StrCat("the probability of class ", c, " is ", probabilities[c], ", must be from ",
                          kLeastPrior, " to 1");
    }
    sum += double{probabilities[c]};
  }
  if (std::abs(sum - 1) <= kSumTolerance) return "";
  return absl::StrCat("the probabilities sum to ", sum, ", must sum to 1");
}

std::vector<double> LogPrior(std::span<const double> probabilities, std::size_t classes) {
  std::vector<double> log_prior(classes, -std::log(static_cast<double>(classes)));
  for (std::size_t c = 0; c < probabilities.size(); ++c) log_prior[c] = std::log(probabilities[c]);
  Normalise(log_prior);
  return log_prior;
}

template std::optional<ProbabilityFault> FaultOf(std::span<const float>);
template std::optional<ProbabilityFault> FaultOf(std::span<const double>);
template std::string PriorFault(std::span<const float>, std::size_t);
template std::string PriorFault(std::span<const double>, std::size_t);
template void ToEvidence(std::span<const float>, std::span<const float>, std::size_t, std::span<float>);
template void ToEvidence(std::span<const double>, std::span<const double>, std::size_t, std::span<double>);
template void AddEvidence(std::span<const float>, double, std::span<double>);
template void AddEvidence(std::span<const double>, double, std::span<double>);

}  // namespace tributary::estimate
