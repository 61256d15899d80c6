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
  double nees = 0;         // mean; ideal: 2; 0 where there is no covariance
  double nees_median = 0;  // ideal: 1.386; hardly moved by the few that are far off
};

class PositionErrors {
 public:
  void Add(const estimate::Vector<2>& position, const estimate::Vector<2>& truth) {
    errors_m_.push_back((position - truth).norm());
  }
  void Add(const estimate::Gaussian<2>& estimate, const estimate::Vector<2>& truth) {
    Add(estimate.mean, truth);
    nees_.push_back(estimate.SquaredDistance(truth));
  }

  // All 0 without an error.
  ErrorFigures Figures() const {
    if (errors_m_.empty()) return {};
    const std::vector<double> sorted = Sorted(errors_m_), nees = Sorted(nees_);
    const auto count = static_cast<double>(sorted.size());
    const auto quantile = [&](double q) { return sorted[static_cast<std::size_t>(q * (count - 1))]; };
    return {.mean_m = Sum(sorted) / count,
            .p90_m = quantile(0.9),
            .p99_m = quantile(0.99),
            .max_m = sorted.back(),
            .nees = Sum(nees) / count,
            .nees_median = nees.empty() ? 0 : nees[nees.size() / 2]};
  }

  // Squared normalised errors, of estimates with a covariance, in the order of Add.
  const std::vector<double>& squared_distances() const { return nees_; }

 private:
  // NaN, which a network that diverged gives, comes last: a sort needs a strict order.
  static std::vector<double> Sorted(std::vector<double> values) {
    std::ranges::sort(values, [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    return values;
  }
  static double Sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  std::vector<double> errors_m_;
  std::vector<double> nees_;  // of estimates with a covariance
};

}  // namespace tributary::cli
