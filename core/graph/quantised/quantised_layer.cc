#include "core/graph/quantised/quantised_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tributary::graph {

absl::StatusOr<Factor> FactorOf(double factor) {
  if (!(factor > 0 && factor < 0x1p24)) {
    return absl::InvalidArgumentError(
        fmt::format("its scales give the factor {:.3g}; from 0 to 2^24 are taken", factor));
  }
  int exponent = 0;
  (void)std::frexp(factor, &exponent);  // factor < 2^exponent
  Factor nearest;
  nearest.shift = std::min(Factor::kMantissaBits - exponent, Factor::kMostShift);
  double mantissa = std::nearbyint(std::ldexp(factor, nearest.shift));
  if (mantissa >= 0x1p24) {  // rounded up to the next power of two
    mantissa /= 2;
    --nearest.shift;
  }
  if (nearest.shift < 0) return absl::InvalidArgumentError("its scales give a factor above 2^24");
  nearest.mantissa = static_cast<std::int32_t>(mantissa);
  return nearest;
}

std::int64_t RoundedShift(std::int64_t value, std::int32_t shift) {
  if (shift == 0) return value;
  const std::int64_t whole = value >> shift;
  const std::int64_t rest = value - (whole << shift), half = std::int64_t{1} << (shift - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

std::int32_t Requantised(const QuantisedLayer& layer, const Quantisation& output, std::size_t channel,
                         std::int64_t sum, std::int64_t residual) {
  const Factor& factor = layer.FactorAt(channel);
  const std::int64_t scaled = sum * factor.mantissa + residual * layer.ResidualAt(channel);
  const std::int64_t rounded = RoundedShift(scaled, factor.shift) + output.zero_point;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(rounded, layer.lowest, layer.highest));
}

}  // namespace tributary::graph
