#include "core/radio/frequency_modulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "core/radio/symbol_clock.h"

namespace tributary::radio {
namespace {

constexpr double kGaussianBandwidthTime = 0.35;
constexpr double kGaussianSymbols = 4;
constexpr double kGfskTurnRad = 0.1 * 8;

// ∫ of Φ((x + a) / σ) over x, from -∞.
double IntegratedNormal(double x, double sigma) {
  const double z = x / sigma;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return sigma * (z * 0.5 * std::erfc(-z / std::numbers::sqrt2) + density);
}

// The phase that a Gaussian-filtered rectangle of one symbol, centred on 0, has turned by time t.
double GaussianTurn(double t) {
  // σ of the filter's impulse response, in symbols.
  static const double kSigma = std::sqrt(std::numbers::ln2) / (2 * std::numbers::pi * kGaussianBandwidthTime);
  return IntegratedNormal(t + 0.5, kSigma) - IntegratedNormal(t - 0.5, kSigma);
}

}  // namespace

FrequencyShift Cpfsk() {
  return {std::numbers::pi / 2, PulseTable([](double t) { return std::clamp(t, 0.0, 1.0); }, 0, 1)};
}

FrequencyShift Gfsk() {
  // The filter is cut off, so its rectangle begins and ends within a whole number of symbols.
  constexpr double kReach = (kGaussianSymbols + 1) / 2;
  const double first = GaussianTurn(-kReach);
  const double whole = GaussianTurn(kReach) - first;
  const auto turn = [&](double t) {
    return (GaussianTurn(std::min(t, 2 * kReach) - kReach) - first) / whole;
  };
  return {kGfskTurnRad, PulseTable(turn, 0, static_cast<std::size_t>(2 * kReach))};
}

void ModulateFrequency(const FrequencyShift& shift, double samples_per_symbol, Draws& draws,
                       Waveform& waveform) {
  SymbolClock clock(samples_per_symbol, draws);
  const double first_phase = draws.Phase();
  const std::size_t memory = shift.turn.symbols();
  // Symbol s, from `memory` - 1 symbols before the first sample on, is step[s]; turned[s] is the phase of all
  // symbols before it.
  std::array<double, kMaxWaveformSymbols + 1> step;
  std::array<double, kMaxWaveformSymbols + 1> turned;
  double sum = first_phase;
  for (std::size_t s = 0; s < step.size(); ++s) {
    step[s] = draws.Bits() >> 63 != 0 ? shift.turn_rad : -shift.turn_rad;
    turned[s] = sum;
    sum += step[s];
  }
  PulseTable::Weights weights;
  for (std::size_t n = 0; n < Waveform::size(); ++n, clock.Advance()) {
    shift.turn.At(clock.fraction(), weights);
    double phase = turned[clock.symbol()];
    for (std::size_t k = 0; k < memory; ++k) {
      phase += weights[k] * step[clock.symbol() + memory - 1 - k];
    }
    waveform.i[n] = std::cos(static_cast<float>(phase));
    waveform.q[n] = std::sin(static_cast<float>(phase));
  }
}

}  // namespace tributary::radio
