#include "core/privacy/rdp_accountant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tributary::privacy {
namespace {

constexpr int kMinOrder = 2;
constexpr int kMaxOrder = 256;

double LogBinomial(int n, int k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

// log(e^a + e^b)
double LogAdd(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -std::numeric_limits<double>::infinity()
             ? larger
             : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

double SampledGaussianRdp(double noise_multiplier, double sample_fraction, int order) {
  const double twice_variance = 2 * noise_multiplier * noise_multiplier;
  if (sample_fraction >= 1) return order / twice_variance;
  // Mironov, Talwar and Zhang 2019, section 3.3: log E[(1 − q + q e^((2z − 1) / 2σ²))^α] for z ~ N(0, σ²).
  double sum = -std::numeric_limits<double>::infinity();
  for (int k = 0; k <= order; ++k) {
    const double term = LogBinomial(order, k) + (order - k) * std::log1p(-sample_fraction) +
                        k * std::log(sample_fraction) + (static_cast<double>(k) * k - k) / twice_variance;
    sum = LogAdd(sum, term);
  }
  return std::max(sum, 0.0) / (order - 1);
}

absl::StatusOr<RdpAccountant> RdpAccountant::Create(double noise_multiplier, double sample_fraction) {
  if (!(noise_multiplier > 0) || !std::isfinite(noise_multiplier)) {
    return absl::InvalidArgumentError(
        fmt::format("noise multiplier {}, expected a positive number", noise_multiplier));
  }
  if (!(sample_fraction > 0 && sample_fraction <= 1)) {
    return absl::InvalidArgumentError(
        fmt::format("sample fraction {}, expected above 0 and at most 1", sample_fraction));
  }
  std::vector<double> per_round;
  for (int order = kMinOrder; order <= kMaxOrder; ++order) {
    per_round.push_back(SampledGaussianRdp(noise_multiplier, sample_fraction, order));
  }
  return RdpAccountant(std::move(per_round));
}

double RdpAccountant::Epsilon(std::size_t rounds, double delta) const {
  if (rounds == 0) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < per_round_.size(); ++i) {
    const double order = kMinOrder + static_cast<double>(i);
    const double epsilon = static_cast<double>(rounds) * per_round_[i] + std::log1p(-1 / order) -
                           (std::log(delta) + std::log(order)) / (order - 1);
    best = std::min(best, epsilon);
  }
  return std::max(best, 0.0);
}

}  // namespace tributary::privacy
