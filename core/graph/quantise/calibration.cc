#include "core/graph/quantise/calibration.h"

#include <algorithm>
#include <cmath>

namespace tributary::graph {

void ValueStatistics::AddEnds(std::span<const float> values) {
  for (const float value : values) {
    finite_ = finite_ && std::isfinite(value);
    least_ = std::min<double>(least_, value);
    most_ = std::max<double>(most_, value);
  }
}

void ValueStatistics::Count(std::span<const float> values) {
  bins_.resize(kBins);
  if (!(most_ > least_)) return;
  for (const float value : values) {
    const auto bin = static_cast<std::size_t>((value - least_) / width());
    ++bins_[std::min(bin, kBins - 1)];
  }
  count_ += values.size();
}

Range ValueStatistics::RangeBy(RangeRule rule, double percentile) const {
  const Range all{least_, most_};
  if (rule == RangeRule::kMinMax || count_ == 0) return all;
  if (rule == RangeRule::kPercentile) {
    // Half of what is left out on either side; a side that ends at 0 loses nothing.
    const double outside = static_cast<double>(count_) * (1 - percentile / 100) / 2;
    Range range = all;
    double passed = 0;
    for (std::size_t b = 0; b < kBins && range.least < 0; ++b) {
      passed += static_cast<double>(bins_[b]);
      if (passed > outside) break;
      range.least = std::min(0.0, least_ + width() * static_cast<double>(b + 1));
    }
    passed = 0;
    for (std::size_t b = kBins; b-- > 0 && range.most > 0;) {
      passed += static_cast<double>(bins_[b]);
      if (passed > outside) break;
      range.most = std::max(0.0, least_ + width() * static_cast<double>(b));
    }
    return range;
  }
  // Both ends on a grid of their own; a tenth of the whole is the narrowest.
  constexpr int kSteps = 18;
  Range best = all;
  double least_error = MeanSquare(all);
  for (int low = 0; low <= kSteps; ++low) {
    for (int high = 0; high <= kSteps; ++high) {
      const Range range{least_ * (1 - 0.05 * low), most_ * (1 - 0.05 * high)};
      const double error = MeanSquare(range);
      if (error < least_error) {
        least_error = error;
        best = range;
      }
      if (most_ == 0) break;
    }
    if (least_ == 0) break;
  }
  return best;
}

double ValueStatistics::MeanSquare(const Range& range) const {
  const double step = (range.most - range.least) / 255;
  double sum = 0;
  for (std::size_t b = 0; b < kBins; ++b) {
    if (bins_[b] == 0) continue;
    const double value = least_ + width() * (static_cast<double>(b) + 0.5);
    const double beyond = std::max({range.least - value, value - range.most, 0.0});
    sum += static_cast<double>(bins_[b]) * (beyond * beyond + step * step / 12);
  }
  return sum / static_cast<double>(count_);
}

Quantisation QuantisationFor(const Range& range, ElementType type) {
  Quantisation quantisation{.type = type};
  const double width = range.most - range.least;
  // Scales stay normal floats.
  quantisation.scale = static_cast<float>(std::clamp(width / 255, 1e-30, 1e30));
  if (!(width > 0)) quantisation.scale = 1.0f / 255;
  const double zero = std::nearbyint(-range.least / quantisation.scale) + quantisation.lowest();
  quantisation.zero_point =
      static_cast<std::int32_t>(std::clamp<double>(zero, quantisation.lowest(), quantisation.highest()));
  return quantisation;
}

}  // namespace tributary::graph
