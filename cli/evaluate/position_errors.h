// How far estimated positions are off, and whether that agrees with the covariance that they claim.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/estimate/gaussian.h"

namespace tributary::cli {

struct ErrorFigures {
  double mean_m = 0;
  double p90_m = 0;
  double p99_m = 0;
  double max_m = 0;
  double nees = 0;  // mean; ideal: 2; 0 where there is no covariance
};

class PositionErrors {
 public:
  void Add(const estimate::Vector<2>& position, const estimate::Vector<2>& truth) {
    errors_m_.push_back((position - truth).norm());
  }
  void Add(const estimate::Gaussian<2>& estimate, const estimate::Vector<2>& truth) {
    Add(estimate.mean, truth);
    nees_sum_ += estimate.SquaredDistance(truth);
  }

  // All 0 without an error.
  ErrorFigures Figures() const {
    if (errors_m_.empty()) return {};
    std::vector<double> sorted = errors_m_;
    // NaN, which a network that diverged gives, comes last: a sort needs a strict order.
    std::ranges::sort(sorted, [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    const auto count = static_cast<double>(sorted.size());
    const auto quantile = [&](double q) { return sorted[static_cast<std::size_t>(q * (count - 1))]; };
    return {.mean_m = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count,
            .p90_m = quantile(0.9),
            .p99_m = quantile(0.99),
            .max_m = sorted.back(),
            .nees = nees_sum_ / count};
  }

 private:
  std::vector<double> errors_m_;
  double nees_sum_ = 0;
};

}  // namespace tributary::cli
