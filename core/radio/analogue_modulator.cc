#include "core/radio/analogue_modulator.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "core/radio/speech.h"

namespace tributary::radio {
namespace {

constexpr double kDeviationHz = 75e3;
constexpr double kPreemphasisS = 75e-6;
constexpr double kSpeechLevel = 0.2;  // of the limit

std::complex<float> PreemphasisAt(double hz) {
  return {1.0f, static_cast<float>(2 * std::numbers::pi * hz * kPreemphasisS)};
}

}  // namespace

void ModulateSingleSideBand(double sample_rate_hz, Draws& draws, Waveform& waveform) {
  Speech::Draw(draws).WriteAnalytic(sample_rate_hz, waveform.i, waveform.q);
}

void ModulateWideBandFm(double sample_rate_hz, Draws& draws, Waveform& waveform) {
  Speech speech = Speech::Draw(draws);
  speech.Filter(PreemphasisAt);
  speech.WriteAnalytic(sample_rate_hz, waveform.i, waveform.q);
  // The analytic signal's real part has half of its power.
  constexpr auto kLevel = static_cast<float>(kSpeechLevel * std::numbers::sqrt2);
  const double radians = 2 * std::numbers::pi * kDeviationHz / sample_rate_hz;
  double phase = draws.Phase();
  for (std::size_t n = 0; n < Waveform::size(); ++n) {
    phase += radians * std::clamp(kLevel * waveform.i[n], -1.0f, 1.0f);
    waveform.i[n] = std::cos(static_cast<float>(phase));
    waveform.q[n] = std::sin(static_cast<float>(phase));
  }
}

}  // namespace tributary::radio
