#include "core/radio/resampler.h"

#include <cmath>
#include <numbers>

namespace tributary::radio {
namespace {

constexpr double kKaiserBeta = 6;

double Kaiser(double x, double half_width) {
  const double inside = 1 - x * x / (half_width * half_width);
  if (inside <= 0) return 0;
  return std::cyl_bessel_i(0.0, kKaiserBeta * std::sqrt(inside)) / std::cyl_bessel_i(0.0, kKaiserBeta);
}

}  // namespace

double Sinc(double x) {
  const double angle = std::numbers::pi * x;
  return std::abs(angle) < 1e-9 ? 1 : std::sin(angle) / angle;
}

Resampler::Resampler() : rows_(kMoments + 1) {
  for (std::size_t row = 0; row <= kMoments; ++row) {
    const double fraction = static_cast<double>(row) / kMoments;
    double sum = 0;
    std::array<double, kTaps> taps;
    for (std::size_t k = 0; k < kTaps; ++k) {
      const double distance = static_cast<double>(k) - static_cast<double>(kBefore) - fraction;
      taps[k] = Sinc(distance) * Kaiser(distance, kTaps / 2.0);
      sum += taps[k];
    }
    for (std::size_t k = 0; k < kTaps; ++k) rows_[row][k] = static_cast<float>(taps[k] / sum);
  }
}

const Resampler& Resampler::Get() {
  static const Resampler kResampler;
  return kResampler;
}

}  // namespace tributary::radio
