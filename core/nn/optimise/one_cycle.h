// The one-cycle learning rate (Smith & Topin, 2018) with cosine annealing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tributary::nn {

// Rises from peak / 25 over the first 30 % of the steps, then falls to peak / 250,000: the usual defaults of
// the schedule.
struct OneCycle {
  double peak;
  std::uint64_t steps;

  double Rate(std::uint64_t step) const {
    const double rise = 0.3 * static_cast<double>(steps);
    const double position = static_cast<double>(std::min(step, steps));
    const double initial = peak / 25.0;
    if (position < rise) return Anneal(initial, peak, position / rise);
    return Anneal(peak, initial / 1e4, (position - rise) / (static_cast<double>(steps) - rise));
  }

 private:
  static double Anneal(double from, double to, double fraction) {
    return to + 0.5 * (from - to) * (1.0 + std::cos(std::numbers::pi * fraction));
  }
};

}  // namespace tributary::nn
