#include "core/radio/symbol_modulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

namespace tributary::radio {
namespace {

constexpr double kRollOff = 0.35;
constexpr double kSamplesPerSymbol = 8;

struct Expected {
  Modulation modulation;
  std::size_t points;
  double c40;  // magnitude
  double c42;
};

// Cumulants of constellations with power one [Swami00].
constexpr Expected kExpected[] = {
    {Modulation::kBpsk, 2, 2, -2},         {Modulation::kPam4, 4, 1.36, -1.36},
    {Modulation::kQpsk, 4, 1, -1},         {Modulation::k8Psk, 8, 0, -1},
    {Modulation::kQam16, 16, 0.68, -0.68}, {Modulation::kQam64, 64, 0.6191, -0.6191},
};

TEST(ConstellationTest, HasTheCumulantsOfItsModulation) {
  for (const Expected& expected : kExpected) {
    const auto points = ConstellationOf(expected.modulation);
    ASSERT_EQ(points.size(), expected.points);
    std::complex<double> m20, m40;
    double m21 = 0, m42 = 0;
    for (const std::complex<double> x : std::vector<std::complex<double>>(points.begin(), points.end())) {
      const auto n = static_cast<double>(points.size());
      m20 += x * x / n;
      m21 += std::norm(x) / n;
      m40 += x * x * x * x / n;
      m42 += std::norm(x) * std::norm(x) / n;
    }
    EXPECT_NEAR(m21, 1, 1e-6) << ModulationName(expected.modulation);
    EXPECT_NEAR(std::abs(m40 - 3.0 * m20 * m20), expected.c40, 1e-4) << ModulationName(expected.modulation);
    EXPECT_NEAR(m42 - std::norm(m20) - 2, expected.c42, 1e-4) << ModulationName(expected.modulation);
  }
}

TEST(ConstellationTest, IsEmptyForAModulationWithoutSymbols) {
  EXPECT_TRUE(ConstellationOf(Modulation::kGfsk).empty());
  EXPECT_TRUE(ConstellationOf(Modulation::kWbfm).empty());
}

// The textbook's closed form, away from its two removable singularities.
double ClosedForm(double t) {
  const double b = kRollOff;
  if (std::abs(t) < 1e-9) return 1 - b + 4 * b / std::numbers::pi;
  return (std::sin(std::numbers::pi * t * (1 - b)) + 4 * b * t * std::cos(std::numbers::pi * t * (1 + b))) /
         (std::numbers::pi * t * (1 - 16 * b * b * t * t));
}

TEST(RootRaisedCosineTest, IsTheClosedForm) {
  const PulseTable pulse = RootRaisedCosine(kRollOff);
  PulseTable::Weights weights;
  for (const double fraction : {0.0, 0.1003, 0.25, 0.4999, 0.9}) {
    pulse.At(fraction, weights);
    for (std::size_t k = 0; k < pulse.symbols(); ++k) {
      const double t = fraction - pulse.latest() + static_cast<double>(k);
      EXPECT_NEAR(weights[k], ClosedForm(t), 3e-5) << t;
    }
  }
}

class SymbolModulatorTest : public testing::TestWithParam<Expected> {
 protected:
  void Modulate(std::uint64_t key) {
    Draws draws(key);
    ModulateSymbols(points_, pulse_, kSamplesPerSymbol, draws, *waveform_);
  }

  std::complex<double> At(std::size_t n) const { return {waveform_->i[n], waveform_->q[n]}; }

  const std::vector<std::complex<float>> points_ = ConstellationOf(GetParam().modulation);
  const PulseTable pulse_ = RootRaisedCosine(kRollOff);
  const std::unique_ptr<Waveform> waveform_ = std::make_unique<Waveform>();
};

// The matched filter of the closed form at the symbols' moments gives back points of the constellation. The
// pulse is cut at six symbols, where the filter's output has sidelobes of about 1 %.
TEST_P(SymbolModulatorTest, GivesItsSymbolsToAMatchedFilter) {
  for (std::uint64_t key = 0; key < 20; ++key) {
    Modulate(key);
    const double begin = Draws(key).Uniform();  // the clock's first draw
    for (int symbol = 7; symbol < 14; ++symbol) {
      std::complex<double> sum;
      for (std::size_t n = 0; n < Waveform::size(); ++n) {
        const double t = begin + static_cast<double>(n) / kSamplesPerSymbol - symbol;
        if (std::abs(t) < 6) sum += At(n) * ClosedForm(t) / kSamplesPerSymbol;
      }
      double nearest = 10;
      for (const auto& point : points_) {
        nearest = std::min(nearest, std::abs(sum - std::complex<double>(point)));
      }
      EXPECT_LT(nearest, 0.05) << "key " << key << " symbol " << symbol;
    }
  }
}

// A burst has 21 symbols; over 2,000 bursts the power's standard error is below (1 / 42,000)^½ × √0.4 = 0.3 %
// for the constellations whose powers differ, and less for the others; the pulse's ripple adds to it.
TEST_P(SymbolModulatorTest, HasPowerOne) {
  constexpr int kBursts = 2000;
  double power = 0;
  for (std::uint64_t key = 0; key < kBursts; ++key) {
    Modulate(key);
    for (std::size_t n = 0; n < Waveform::size(); ++n) power += std::norm(At(n)) / Waveform::size() / kBursts;
  }
  EXPECT_NEAR(power, 1, 0.02);
}

// Blackman's window widens the band by three bins of 1/168. The pulse's cut leaves sidelobes of −40 dB.
TEST_P(SymbolModulatorTest, OccupiesTheBandOfItsRollOff) {
  const double edge = (1 + kRollOff) / 2 / kSamplesPerSymbol + 3.0 / Waveform::size();
  double inside = 0;
  double outside = 0;
  for (std::uint64_t key = 0; key < 50; ++key) {
    Modulate(key);
    for (int bin = -84; bin < 84; ++bin) {
      const double frequency = bin / static_cast<double>(Waveform::size());
      std::complex<double> sum;
      for (std::size_t n = 0; n < Waveform::size(); ++n) {
        const double x = 2 * std::numbers::pi * (static_cast<double>(n) + 0.5) / Waveform::size();
        sum += At(n) * (0.42 - 0.5 * std::cos(x) + 0.08 * std::cos(2 * x)) *
               std::polar(1.0, -2 * std::numbers::pi * frequency * static_cast<double>(n));
      }
      (std::abs(frequency) <= edge ? inside : outside) += std::norm(sum);
    }
  }
  EXPECT_LT(outside / inside, 1e-4);
  EXPECT_GT(outside, 0);
}

std::string NameOf(const testing::TestParamInfo<Expected>& one) {
  return std::string(ModulationName(one.param.modulation));
}

INSTANTIATE_TEST_SUITE_P(Linear, SymbolModulatorTest, testing::ValuesIn(kExpected), NameOf);

}  // namespace
}  // namespace tributary::radio
