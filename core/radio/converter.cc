#include "core/radio/converter.h"

#include <algorithm>
#include <cmath>

namespace tributary::radio {

void Convert(const ConverterOptions& options, Received& received) {
  if (options.bits == 0) return;
  double energy = 0;
  for (const auto& part : {&received.i, &received.q}) {
    for (const float x : *part) energy += static_cast<double>(x) * x;
  }
  if (!(energy > 0)) return;
  const double rms = std::sqrt(energy / (2 * kBurstSamples));
  const auto words = static_cast<float>(std::ldexp(1.0, options.bits - 1));
  const auto step = static_cast<float>(options.full_scale * rms) / words;
  for (const auto& part : {&received.i, &received.q}) {
    for (float& x : *part) x = step * std::clamp(std::nearbyint(x / step), -words, words - 1);
  }
}

}  // namespace tributary::radio
