#include "core/radio/fading.h"

#include <cmath>
#include <numbers>

namespace tributary::radio {

PathGain DrawPath(const FadingOptions& options, bool line_of_sight, double duration_s, Draws& draws) {
  constexpr double kPi = std::numbers::pi;
  const double turn_rad = 2 * kPi * options.doppler_hz * duration_s;
  const double arrival = draws.Between(-kPi, kPi);
  PathGain scattered;
  for (int n = 1; n <= options.sinusoids; ++n) {
    const double angle = (2 * kPi * n - kPi + arrival) / (4 * options.sinusoids);
    const double in_phase = draws.Phase();
    const double quadrature = draws.Phase();
    const double step = turn_rad * std::cos(angle);
    scattered.begin += std::complex(std::cos(in_phase), std::sin(quadrature));
    scattered.end += std::complex(std::cos(in_phase + step), std::sin(quadrature + step));
  }
  const double amplitude = 1 / std::sqrt(options.sinusoids);
  scattered.begin *= amplitude;
  scattered.end *= amplitude;
  if (!line_of_sight) return scattered;
  const double k = options.k_factor;
  const double phase = draws.Phase();
  const double step = turn_rad * std::cos(draws.Phase());
  return {(scattered.begin + std::polar(std::sqrt(k), phase)) / std::sqrt(k + 1),
          (scattered.end + std::polar(std::sqrt(k), phase + step)) / std::sqrt(k + 1)};
}

}  // namespace tributary::radio
