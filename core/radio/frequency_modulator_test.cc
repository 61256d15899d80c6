#include "core/radio/frequency_modulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace tributary::radio {
namespace {

constexpr double kShiftSamplesPerSymbol = 8;

std::vector<double> PhaseSteps(const FrequencyShift& shift, std::uint64_t key) {
  Waveform waveform;
  Draws draws(key);
  ModulateFrequency(shift, kShiftSamplesPerSymbol, draws, waveform);
  std::vector<double> steps;
  for (std::size_t n = 1; n < Waveform::size(); ++n) {
    const std::complex<double> before(waveform.i[n - 1], waveform.q[n - 1]);
    const std::complex<double> now(waveform.i[n], waveform.q[n]);
    steps.push_back(std::arg(now * std::conj(before)));
  }
  return steps;
}

TEST(FrequencyModulatorTest, HasMagnitudeOne) {
  for (const FrequencyShift& shift : {Cpfsk(), Gfsk()}) {
    Waveform waveform;
    Draws draws(3);
    ModulateFrequency(shift, kShiftSamplesPerSymbol, draws, waveform);
    for (std::size_t n = 0; n < Waveform::size(); ++n) {
      ASSERT_NEAR(std::hypot(waveform.i[n], waveform.q[n]), 1, 1e-6);
    }
  }
}

// π/16 per sample, up or down; only the one sample in which a symbol begins may lie between.
TEST(FrequencyModulatorTest, TurnsCpfskByAQuarterPerSymbol) {
  const double full = std::numbers::pi / 2 / kShiftSamplesPerSymbol;
  int up = 0;
  int down = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const std::vector<double> steps = PhaseSteps(Cpfsk(), key);
    int between = 0;
    for (const double step : steps) {
      ASSERT_LE(std::abs(step), full + 1e-4);
      if (std::abs(std::abs(step) - full) > 1e-4) {
        ++between;
      } else {
        ++(step > 0 ? up : down);
      }
    }
    EXPECT_LE(between, static_cast<int>(Waveform::size() / kShiftSamplesPerSymbol) + 1);
  }
  // About 2,100 independent symbols: five standard errors are 11 %.
  EXPECT_NEAR(static_cast<double>(up) / (up + down), 0.5, 0.055);
}

// Independently: the taps of GNU Radio's Gaussian filter over a rectangle of one symbol, at sixteen times its
// rate, on the same kind of random bits.
double ReferenceGfskMeanSquare() {
  constexpr int kFine = 128;  // per symbol
  const double sigma = std::sqrt(std::numbers::ln2) / (2 * std::numbers::pi * 0.35) * kFine;
  std::vector<double> taps(4 * kFine + 1);
  double sum = 0;
  for (std::size_t k = 0; k < taps.size(); ++k) {
    const double x = (static_cast<double>(k) - 2.0 * kFine) / sigma;
    sum += taps[k] = std::exp(-x * x / 2);
  }
  std::vector<double> pulse(taps.size() + kFine - 1);
  for (std::size_t k = 0; k < taps.size(); ++k) {
    for (int m = 0; m < kFine; ++m) pulse[k + static_cast<std::size_t>(m)] += taps[k] / sum;
  }
  double mean_square = 0;  // of Σ ± pulse: the symbols are independent
  for (const double value : pulse) mean_square += value * value / kFine;
  return mean_square * 0.1 * 0.1;
}

TEST(FrequencyModulatorTest, DeviatesGfskAsItsFilterSays) {
  double mean_square = 0;
  double largest = 0;
  constexpr int kBursts = 1000;
  for (std::uint64_t key = 0; key < kBursts; ++key) {
    for (const double step : PhaseSteps(Gfsk(), key)) {
      mean_square += step * step / (Waveform::size() - 1) / kBursts;
      largest = std::max(largest, std::abs(step));
    }
  }
  // Independent bits every 8 samples: 21,000 of them, a standard error below 0.5 %. A step is the mean of the
  // frequency over an eighth of a symbol, which takes another 0.5 % of its square.
  EXPECT_NEAR(mean_square / ReferenceGfskMeanSquare(), 1, 0.03);
  EXPECT_LE(largest, 0.1 + 1e-5);
  EXPECT_GT(largest, 0.0999);  // runs of equal bits
}

TEST(FrequencyModulatorTest, TurnRisesFromZeroToOne) {
  for (const FrequencyShift& shift : {Cpfsk(), Gfsk()}) {
    PulseTable::Weights weights;
    shift.turn.At(0, weights);
    EXPECT_NEAR(weights[0], 0, 1e-6);
    shift.turn.At(1 - 1e-12, weights);
    EXPECT_NEAR(weights[shift.turn.symbols() - 1], 1, 1e-6);
    for (std::size_t k = 1; k < shift.turn.symbols(); ++k) EXPECT_GE(weights[k], weights[k - 1]);
  }
}

}  // namespace
}  // namespace tributary::radio
