#include "core/radio/burst_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tributary::radio {
namespace {

constexpr double kNoNoiseDb = 200;

using Burst = std::array<float, kBurstFeatures>;

BurstGenerator Generator(const BurstOptions& options = ReferenceDomain(), std::uint64_t seed = 7) {
  auto generator = BurstGenerator::Create(options, seed);
  EXPECT_TRUE(generator.ok()) << generator.status();
  return *std::move(generator);
}

Burst Generate(const BurstGenerator& generator, Modulation modulation, double snr_db, std::uint64_t index,
               std::uint32_t receiver = 0) {
  Burst burst;
  generator.Generate(modulation, snr_db, index, receiver, burst);
  return burst;
}

double Product(const Burst& a, const Burst& b) {
  double sum = 0;
  for (std::size_t k = 0; k < kBurstFeatures; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

// |<a, b>|² of complex vectors of energy 128: 1/128 on the average if they are independent noise.
double Coherence(const Burst& a, const Burst& b) {
  double real = 0;
  double imaginary = 0;
  for (std::size_t n = 0; n < kBurstSamples; ++n) {
    real += static_cast<double>(a[n]) * b[n] + static_cast<double>(a[n + 128]) * b[n + 128];
    imaginary += static_cast<double>(a[n + 128]) * b[n] - static_cast<double>(a[n]) * b[n + 128];
  }
  return (real * real + imaginary * imaginary) / (128.0 * 128.0);
}

// The noise's power over that of the signal, with the same burst without noise as a reference: the noise is
// that which does not lie along the reference. Two of 256 dimensions of noise do, one as a gain.
double MeasuredNoise(const BurstGenerator& generator, Modulation modulation, double snr_db, int bursts) {
  double sum = 0;
  for (int index = 0; index < bursts; ++index) {
    const Burst clean = Generate(generator, modulation, kNoNoiseDb, static_cast<std::uint64_t>(index));
    const Burst noisy = Generate(generator, modulation, snr_db, static_cast<std::uint64_t>(index));
    const double gain = Product(clean, noisy) / Product(clean, clean);
    const double residual = Product(noisy, noisy) - gain * gain * Product(clean, clean);
    sum += residual / (gain * gain * Product(clean, clean)) * 256 / 255;
  }
  return sum / bursts;
}

// 400 bursts of 128 complex numbers: the noise's power has a standard error of 0.44 %, and the gain's own
// error adds less than 1 % at 0 dB.
TEST(BurstGeneratorTest, HasTheTrueRatioThatIsAskedFor) {
  const BurstGenerator generator = Generator();
  for (std::size_t m = 0; m < kModulations.size(); ++m) {
    for (const double snr_db : {0.0, 10.0}) {
      EXPECT_NEAR(MeasuredNoise(generator, static_cast<Modulation>(m), snr_db, 400),
                  std::pow(10, -snr_db / 10), 0.035 * std::pow(10, -snr_db / 10))
          << kModulations[m] << " at " << snr_db << " dB";
    }
  }
}

TEST(BurstGeneratorTest, HasTheTrueRatioInTheForeignDomain) {
  BurstOptions options = ForeignDomain();
  options.converter = {};  // its clipping is not noise
  const BurstGenerator generator = Generator(options);
  EXPECT_NEAR(MeasuredNoise(generator, Modulation::kQpsk, 10, 400), 0.1, 0.0035);
}

// With a channel that only turns the phase and a modulation of magnitude one, the label's decibels count
// twice: 5 is 10 dB.
TEST(BurstGeneratorTest, TakesTheLabelAsAnAmplitudeAgainstTheTransmitter) {
  BurstOptions options;
  options.snr = SnrDefinition::kLabel;
  options.channel.fading.k_factor = 1e6;
  options.channel.delays_samples = {0};
  options.channel.magnitudes = {1};
  EXPECT_NEAR(MeasuredNoise(Generator(options), Modulation::kCpfsk, 5, 400), 0.1, 0.0035);
  // A path with a tenth of the amplitude has a hundredth of the power: 20 dB become 0.
  options.channel.magnitudes = {0.1};
  EXPECT_NEAR(MeasuredNoise(Generator(options), Modulation::kCpfsk, 10, 400), 1, 0.035);
  options.snr = SnrDefinition::kTrue;
  EXPECT_NEAR(MeasuredNoise(Generator(options), Modulation::kCpfsk, 10, 400), 0.1, 0.0035);
}

TEST(BurstGeneratorTest, GivesUnitPowerAtAnyRatioInBothDomains) {
  for (const BurstOptions& domain : {ReferenceDomain(), ForeignDomain()}) {
    const BurstGenerator generator = Generator(domain);
    for (std::size_t m = 0; m < kModulations.size(); ++m) {
      for (const double snr_db : {-20.0, 0.0, 18.0, 60.0}) {
        for (std::uint64_t index = 0; index < 50; ++index) {
          const Burst burst = Generate(generator, static_cast<Modulation>(m), snr_db, index);
          ASSERT_NEAR(Product(burst, burst), kBurstSamples, 1e-3) << kModulations[m] << " " << snr_db;
        }
      }
    }
  }
}

TEST(BurstGeneratorTest, DependsOnSeedAndIndexInAnyOrder) {
  const BurstGenerator generator = Generator();
  const Burst tenth = Generate(generator, Modulation::kAmSsb, 6, 10);
  Generate(generator, Modulation::kWbfm, 0, 3);
  EXPECT_EQ(Generate(generator, Modulation::kAmSsb, 6, 10), tenth);
  EXPECT_EQ(Generate(Generator(), Modulation::kAmSsb, 6, 10), tenth);
  EXPECT_NE(Generate(generator, Modulation::kAmSsb, 6, 11), tenth);
  EXPECT_NE(Generate(Generator(ReferenceDomain(), 8), Modulation::kAmSsb, 6, 10), tenth);
}

TEST(BurstGeneratorTest, GivesAllReceiversAtOnce) {
  const BurstGenerator generator = Generator();
  std::vector<float> bursts(3 * kBurstFeatures);
  generator.GenerateAll(Modulation::kQam16, 4, 5, bursts);
  for (std::uint32_t receiver = 0; receiver < 3; ++receiver) {
    const Burst one = Generate(generator, Modulation::kQam16, 4, 5, receiver);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), bursts.begin() + receiver * kBurstFeatures)) << receiver;
  }
}

// Bursts of pure noise are independent between receivers, indices and modulations: their coherence is 1/128
// with a standard deviation as large.
TEST(BurstGeneratorTest, DrawsIndependentNoise) {
  const BurstGenerator generator = Generator();
  constexpr int kPairs = 2000;
  double receivers = 0;
  double indices = 0;
  double modulations = 0;
  for (std::uint64_t index = 0; index < kPairs; ++index) {
    const Burst burst = Generate(generator, Modulation::kBpsk, -60, index);
    receivers += Coherence(burst, Generate(generator, Modulation::kBpsk, -60, index, 1)) * 128 / kPairs;
    indices += Coherence(burst, Generate(generator, Modulation::kBpsk, -60, index + 1)) * 128 / kPairs;
    modulations += Coherence(burst, Generate(generator, Modulation::kQpsk, -60, index)) * 128 / kPairs;
  }
  for (const double mean : {receivers, indices, modulations}) {
    EXPECT_NEAR(mean, 1, 5 / std::sqrt(kPairs));
  }
}

// Receivers hear the same symbols, through channels whose phases are independent: without noise and with
// one path they are coherent, and their phases differ.
TEST(BurstGeneratorTest, SharesTheTransmittedBurst) {
  BurstOptions options;
  options.channel.delays_samples = {0};
  options.channel.magnitudes = {1};
  options.channel.max_carrier_offset_hz = 0;
  const BurstGenerator generator = Generator(options);
  double same = 0;
  double other = 0;
  double in_phase = 0;
  constexpr int kBursts = 300;
  for (std::uint64_t index = 0; index < kBursts; ++index) {
    const Burst first = Generate(generator, Modulation::kQpsk, kNoNoiseDb, index, 0);
    const Burst second = Generate(generator, Modulation::kQpsk, kNoNoiseDb, index, 1);
    same += Coherence(first, second) / kBursts;
    in_phase += Product(first, second) / kBurstSamples / kBursts;
    other += Coherence(first, Generate(generator, Modulation::kQpsk, kNoNoiseDb, index + 1, 0)) / kBursts;
  }
  EXPECT_GT(same, 0.98);   // they sample within one sample of each other
  EXPECT_LT(other, 0.15);  // some 16 independent symbols each
  EXPECT_LT(std::abs(in_phase), 5 * std::sqrt(0.5 / kBursts));
}

TEST(BurstGeneratorTest, RefusesOptionsByName) {
  const auto refusal = [](void (*change)(BurstOptions&)) {
    BurstOptions options;
    change(options);
    return std::string(BurstGenerator::Create(options, 1).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& o) { o.converter.bits = 1; }), HasSubstr("bits: 1"));
  EXPECT_THAT(refusal([](auto& o) { o.converter = {.bits = 8, .full_scale = 0}; }),
              HasSubstr("full_scale: 0"));
  EXPECT_THAT(refusal([](auto& o) { o.channel.sample_rate_hz = 1e6; }), HasSubstr("sample_rate_hz: 200000"));
  EXPECT_THAT(refusal([](auto& o) { o.channel.taps = 0; }), HasSubstr("taps"));
  EXPECT_THAT(refusal([](auto& o) { o.transmitter.roll_off = 2; }), HasSubstr("roll_off"));
}

}  // namespace
}  // namespace tributary::radio
