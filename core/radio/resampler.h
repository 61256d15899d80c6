// Reads a signal between its samples. Pure; any thread once it is made.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tributary::radio {

// sin(πx) / (πx).
double Sinc(double x);

// A windowed sinc of 16 taps at 512 moments per sample (Kaiser's window, β = 6): flat to 0.02 dB up to 0.38
// cycles per sample; halfway between samples 0.2 dB down at 0.40 and 2 dB down at 0.44.
class Resampler {
 public:
  static constexpr std::size_t kTaps = 16;
  static constexpr std::size_t kMoments = 512;
  static constexpr std::size_t kBefore = kTaps / 2 - 1;  // samples before the place that are needed
  static constexpr std::size_t kAfter = kTaps / 2;

  using Taps = std::array<float, kTaps>;

  static const Resampler& Get();

  // For a place `fraction` in [0, 1) after a sample: tap k is for the sample k - kBefore after that one.
  const Taps& At(double fraction) const {
    const double moment = fraction * kMoments + 0.5;  // its whole part is the nearest moment
    return rows_[static_cast<std::size_t>(moment)];
  }

 private:
  Resampler();

  std::vector<Taps> rows_;  // kMoments + 1
};

}  // namespace tributary::radio
