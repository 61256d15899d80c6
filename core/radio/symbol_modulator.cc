#include "core/radio/symbol_modulator.h"

#include <algorithm>
#include <array>
#include <cmath>
// liquid.h takes C++'s complex numbers if it comes after them.
#include <liquid/liquid.h>

#include <cstddef>

#include "core/radio/symbol_clock.h"

namespace tributary::radio {
namespace {

constexpr unsigned kPulseReach = PulseTable::kMaxSymbols / 2;  // symbols on either side

modulation_scheme SchemeOf(Modulation modulation) {
  switch (modulation) {
    case Modulation::kBpsk:
      return LIQUID_MODEM_BPSK;
    case Modulation::kQpsk:
      return LIQUID_MODEM_QPSK;
    case Modulation::k8Psk:
      return LIQUID_MODEM_PSK8;
    case Modulation::kPam4:
      return LIQUID_MODEM_ASK4;
    case Modulation::kQam16:
      return LIQUID_MODEM_QAM16;
    case Modulation::kQam64:
      return LIQUID_MODEM_QAM64;
    default:
      return LIQUID_MODEM_UNKNOWN;
  }
}

}  // namespace

std::vector<std::complex<float>> ConstellationOf(Modulation modulation) {
  const modulation_scheme scheme = SchemeOf(modulation);
  if (scheme == LIQUID_MODEM_UNKNOWN) return {};
  modemcf modem = modemcf_create(scheme);
  std::vector<std::complex<float>> points(std::size_t{1} << modemcf_get_bps(modem));
  for (std::size_t symbol = 0; symbol < points.size(); ++symbol) {
    modemcf_modulate(modem, static_cast<unsigned>(symbol), &points[symbol]);
  }
  modemcf_destroy(modem);
  return points;
}

PulseTable RootRaisedCosine(double roll_off) {
  std::array<float, 2 * kPulseReach * PulseTable::kSteps + 1> taps;
  liquid_firdes_rrcos(PulseTable::kSteps, kPulseReach, static_cast<float>(roll_off), 0, taps.data());
  const auto pulse = [&](double symbols) {
    const double tap = std::round((symbols + kPulseReach) * PulseTable::kSteps);
    return tap < 0 || tap >= static_cast<double>(taps.size()) ? 0.0
                                                              : double{taps[static_cast<std::size_t>(tap)]};
  };
  return PulseTable(pulse, static_cast<int>(kPulseReach), 2 * kPulseReach);
}

void ModulateSymbols(const std::vector<std::complex<float>>& constellation, const PulseTable& pulse,
                     double samples_per_symbol, Draws& draws, Waveform& waveform) {
  SymbolClock clock(samples_per_symbol, draws);
  // Newest first, as the weights are: symbol s stands at kMaxWaveformSymbols - s.
  std::array<float, kMaxWaveformSymbols> i;
  std::array<float, kMaxWaveformSymbols> q;
  for (std::size_t s = 0; s < kMaxWaveformSymbols; ++s) {
    const std::complex<float> point = constellation[draws.Bits() >> 32 & (constellation.size() - 1)];
    i[s] = point.real();
    q[s] = point.imag();
  }
  PulseTable::Weights weights;
  for (std::size_t n = 0; n < Waveform::size(); ++n, clock.Advance()) {
    pulse.At(clock.fraction(), weights);
    const std::size_t newest = kMaxWaveformSymbols - PulseTable::kMaxSymbols - clock.symbol();
    float sum_i = 0;
    float sum_q = 0;
    for (std::size_t k = 0; k < PulseTable::kMaxSymbols; ++k) {
      sum_i += weights[k] * i[newest + k];
      sum_q += weights[k] * q[newest + k];
    }
    waveform.i[n] = sum_i;
    waveform.q[n] = sum_q;
  }
}

}  // namespace tributary::radio
