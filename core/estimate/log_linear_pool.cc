#include "core/estimate/log_linear_pool.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tributary::estimate {

template <std::floating_point Real>
double InformationOf(std::span<const Real> evidence, std::span<const double> log_prior) {
  // With weights v = prior · likelihood and p = v / Σv: Σ p log(p / prior) = Σ v·evidence / Σv - log Σv.
  // Evidence is at most 0, and 0 for one class, so nothing overflows and Σv is positive.
  double sum = 0;
  double weighted = 0;
  for (std::size_t c = 0; c < evidence.size(); ++c) {
    const double value = std::exp(log_prior[c] + double{evidence[c]});
    sum += value;
    weighted += value * double{evidence[c]};
  }
  return std::max(0.0, weighted / sum - std::log(sum));
}

void WeighByInformation(std::span<double> informations) {
  // Below this they are the rounding of zero.
  constexpr double kNothing = 1e-12;
  const double sum = std::accumulate(informations.begin(), informations.end(), 0.0);
  const auto inputs = static_cast<double>(informations.size());
  for (double& weight : informations) weight = sum > kNothing ? weight / sum : 1 / inputs;
}

template double InformationOf(std::span<const float>, std::span<const double>);
template double InformationOf(std::span<const double>, std::span<const double>);

}  // namespace tributary::estimate
