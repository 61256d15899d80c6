// Synthetic speech for the analogue modulations. Pure; any thread.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

#include "core/radio/draws.h"

namespace tributary::radio {

// A moment of speech that is short against a sound's length (a burst takes 0.64 ms, a sound some 50 ms), as a
// sum of partials with random phases. So its analytic signal is exact, and no stream has to be kept.
//
//   voiced, 65 % of the time: harmonics of a pitch up to 5 kHz, at most 64. Half of the talkers have a median
//     pitch of 115 Hz, half 205 Hz; its logarithm's standard deviation is 0.2. Amplitudes fall by 6 dB per
//     octave and have three formants: 300 to 800 Hz, 900 to 2200 Hz, 2200 to 3000 Hz, uniformly.
//   unvoiced, 23 %: 48 partials, uniformly from 1 to 6 kHz, 10 dB below a voiced sound.
//   pause, 12 %: 48 partials, uniformly from 50 Hz to 6 kHz, 40 dB below.
//
// Loudness in dB is normal with a standard deviation of 6 dB. The power over many moments is one.
class Speech {
 public:
  static constexpr std::size_t kMaxPartials = 64;

  static Speech Draw(Draws& draws);

  // Multiplies each partial by a filter's response.
  template <typename Response>
  void Filter(Response response) {
    for (std::size_t k = 0; k < count_; ++k) amplitude_[k] *= response(static_cast<double>(hz_[k]));
  }

  // Σ of the squares of the partials' amplitudes.
  double power() const;

  // Writes the analytic signal: its real part is the speech times √2, its imaginary part the Hilbert
  // transform of that. Both spans have the same size.
  void WriteAnalytic(double sample_rate_hz, std::span<float> i, std::span<float> q) const;

 private:
  void DrawVoiced(Draws& draws);
  void DrawNoise(Draws& draws, double lowest_hz, double highest_hz);
  void ScaleTo(double power);

  std::size_t count_ = 0;
  std::array<float, kMaxPartials> hz_{};
  std::array<std::complex<float>, kMaxPartials> amplitude_{};
};

}  // namespace tributary::radio
