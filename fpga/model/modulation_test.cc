#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/modulation_network.h"
#include "fpga/model/random_modulation_fixture.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Int8Modulation Int8Of(const TrainedModulation& network) {
  absl::StatusOr<Int8Modulation> fixed = MakeInt8Modulation(network);
  EXPECT_TRUE(fixed.ok()) << fixed.status();
  return *std::move(fixed);
}

std::vector<std::int8_t> RandomSamples(std::mt19937_64& random) {
  std::vector<std::int8_t> samples(kModulationInputs);
  for (std::int8_t& sample : samples) sample = static_cast<std::int8_t>(random());
  return samples;
}

// One layer written down once more, output by output and without a common loop: scale first, then pool.
std::vector<std::int64_t> PlainLayer(const Int8Layer& layer, bool last,
                                     const std::vector<std::int64_t>& input) {
  const ModulationShape& shape = layer.shape;
  const auto result = [&](std::size_t output, std::size_t position) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < shape.channels; ++c) {
      for (std::size_t k = 0; k < shape.taps; ++k) {
        sum += input[c * shape.positions + position + k] *
               layer.weights[(output * shape.channels + c) * shape.taps + k];
      }
    }
    EXPECT_LT(std::abs(sum), std::int64_t{1} << 23);
    const double scaled = static_cast<double>(sum * layer.multiplier[output] + layer.offset[output]);
    return last ? std::clamp<std::int64_t>(std::llround(std::floor(scaled / 65536.0)), -32768, 32767)
                : std::clamp<std::int64_t>(std::llround(std::floor(scaled / 16777216.0)), 0, 127);
  };
  std::vector<std::int64_t> results;
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    for (std::size_t i = 0; i < shape.results(); ++i) {
      results.push_back(shape.pool ? std::max(result(output, 2 * i), result(output, 2 * i + 1))
                                   : result(output, i));
    }
  }
  return results;
}

// Root mean square of the logits' differences, of their own size.
template <typename Infer>
double Deviation(const TrainedModulation& network, const Infer& infer) {
  std::mt19937_64 random(77);
  double wrong = 0.0;
  double size = 0.0;
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> burst = RandomBursts(random, 1);
    const std::vector<float> expected = RunTrained(network, burst);
    std::array<float, kModulationClasses> logits;
    infer(burst, logits);
    for (std::size_t k = 0; k < logits.size(); ++k) {
      wrong += std::pow(logits[k] - expected[k], 2.0);
      size += std::pow(expected[k], 2.0);
    }
  }
  return std::sqrt(wrong / size);
}

TEST(ModulationNetworkTest, Table4HasItsSizes) {
  const TrainedModulation network = EmptyTable4();
  ASSERT_TRUE(CheckTrained(network).ok()) << CheckTrained(network);
  std::size_t weights = 0;
  for (const TrainedLayer& layer : network.layers) weights += layer.weights.size();
  EXPECT_EQ(weights, 33600u);  // "30k weights"
  EXPECT_EQ(network.layers[1].shape.results() * network.layers[1].shape.outputs, 352u);
}

TEST(ModulationNetworkTest, FloatRunIsTheDefinition) {
  // A network that only moves samples: channel 0 takes I at the 8th tap, the rest picks its larger neighbour.
  TrainedModulation network = EmptyTable4();
  network.layers[0].weights[7] = 1.0f;
  network.layers[1].weights[0] = 1.0f;
  network.layers[2].weights[0] = 1.0f;
  network.layers[3].weights[0] = 1.0f;
  network.layers[4].weights[0] = -2.0f;
  std::vector<float> burst(kModulationInputs);
  burst[7] = 0.25f;
  burst[8] = 0.75f;
  burst[9] = 0.5f;
  burst[10] = -9.0f;
  const std::vector<float> logits = RunTrained(network, burst);
  ASSERT_EQ(logits.size(), kModulationClasses);
  EXPECT_EQ(logits[0], -1.5f);
  EXPECT_EQ(logits[1], 0.0f);
}

TEST(ModulationNetworkTest, RefusesWhatTheModelsCannotRun) {
  const auto refused = [](auto change) {
    TrainedModulation network = RandomTable4(1);
    change(network);
    const absl::Status status = CheckTrained(network);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::IsInvalidArgument(MakeInt8Modulation(network).status()));
  };
  refused([](TrainedModulation& n) { n.layers.clear(); });
  refused([](TrainedModulation& n) { n.layers.resize(9); });
  refused([](TrainedModulation& n) { n.layers.pop_back(); });
  refused([](TrainedModulation& n) { n.input_range = 0.0f; });
  refused([](TrainedModulation& n) { n.input_range = std::numeric_limits<float>::infinity(); });
  refused([](TrainedModulation& n) { n.layers[1].range = kNan; });
  refused([](TrainedModulation& n) { n.layers[1].range = -1.0f; });
  refused([](TrainedModulation& n) { n.layers[2].weights[17] = kNan; });
  refused([](TrainedModulation& n) { n.layers[0].bias[3] = std::numeric_limits<float>::infinity(); });
  refused([](TrainedModulation& n) { n.layers[0].bias.pop_back(); });
  refused([](TrainedModulation& n) { n.layers[3].weights.pop_back(); });
  refused([](TrainedModulation& n) { n.layers[0].shape.taps = 0; });
  refused([](TrainedModulation& n) { n.layers[0].shape.taps = 129; });
  refused([](TrainedModulation& n) { n.layers[0].shape.outputs = 0; });
  refused([](TrainedModulation& n) { n.layers[0].shape.outputs = 129; });
  refused([](TrainedModulation& n) { n.layers[0].shape.channels = 0; });
  refused([](TrainedModulation& n) { n.layers[1].shape.taps = 17; });  // 544 products
  refused([](TrainedModulation& n) { n.layers[2].shape.positions = 23; });
  refused([](TrainedModulation& n) { n.layers[2].shape.pool = true; });  // of one position nothing is left
}

TEST(ModulationNetworkTest, CalibrationFindsTheLargestMagnitudes) {
  TrainedModulation network = EmptyTable4();
  network.layers[0].weights[0] = 2.0f;
  std::vector<float> bursts(2 * kModulationInputs);
  bursts[kModulationInputs] = 3.0f;
  bursts[kModulationInputs + 200] = -5.0f;
  ASSERT_TRUE(Calibrate(bursts, network).ok());
  EXPECT_EQ(network.input_range, 5.0f);
  EXPECT_EQ(network.layers[0].range, 6.0f);
  EXPECT_EQ(network.layers[1].range, 1.0f);  // all its results are zero
  EXPECT_TRUE(absl::IsInvalidArgument(Calibrate({}, network)));
  bursts[3] = kNan;
  EXPECT_TRUE(absl::IsInvalidArgument(Calibrate(bursts, network)));
  EXPECT_TRUE(absl::IsInvalidArgument(Calibrate(std::span(bursts).first(100), network)));
}

TEST(ModulationInt8Test, EqualsThePlainFormula) {
  std::mt19937_64 random(2);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Int8Modulation network = Int8Of(seed == 0 ? RandomTable4(seed) : RandomModulation(seed));
    if (seed % 4 == 3) {
      // All weights at the ends of their range.
      for (Int8Layer& layer : network.layers) {
        for (std::int8_t& weight : layer.weights) weight = random() % 2 == 0 ? 127 : -127;
      }
    }
    const std::vector<std::int8_t> samples = RandomSamples(random);
    std::vector<std::int64_t> expected(samples.begin(), samples.end());
    for (const Int8Layer& layer : network.layers) {
      expected = PlainLayer(layer, &layer == &network.layers.back(), expected);
    }
    const std::vector<std::int32_t> actual = RunInt8Layers(network, samples);
    ASSERT_TRUE(std::ranges::equal(actual, expected)) << "seed " << seed;
  }
}

TEST(ModulationInt8Test, ComesCloseToSinglePrecision) {
  // Words of 7 or 8 bits round by 1/254 of their range, which is three to four deviations wide; five layers
  // and their weights add up to a few per cent.
  const TrainedModulation network = RandomTable4(3);
  const Int8Modulation fixed = Int8Of(network);
  EXPECT_LT(Deviation(network, [&](auto burst, auto& logits) { InferInt8(fixed, burst, logits); }), 0.1);
}

TEST(ModulationInt8Test, TakesWeightsOfAnySize) {
  std::mt19937_64 random(4);
  const std::vector<float> burst = RandomBursts(random, 1);
  for (const float scale : {0.0f, 1e-38f, 1e-20f, 1e6f, 1e30f}) {
    TrainedModulation network = RandomTable4(4);
    for (float& weight : network.layers[1].weights) weight *= scale;
    network.layers[1].bias.clear();
    const Int8Modulation fixed = Int8Of(network);  // with the ranges of the weights before
    std::array<float, kModulationClasses> logits;
    InferInt8(fixed, burst, logits);
    for (const float logit : logits) EXPECT_TRUE(std::isfinite(logit)) << scale;
    for (const Int8Layer& layer : fixed.layers) {
      for (const std::int32_t multiplier : layer.multiplier) {
        EXPECT_GE(multiplier, 0);
        EXPECT_LT(multiplier, 1 << Int8Layer::kMultiplierBits);
      }
      for (const std::int8_t weight : layer.weights) EXPECT_GE(weight, -127);
    }
    if (scale == 0.0f) {
      EXPECT_TRUE(std::ranges::all_of(logits, [](float logit) { return logit == 0.0f; }));
    }
  }
}

TEST(ModulationInt8Test, RefusesScalesThatDoNotFit) {
  TrainedModulation network = RandomTable4(5);
  network.layers[0].bias[3] = 1e7f * network.layers[0].range;
  EXPECT_TRUE(absl::IsInvalidArgument(MakeInt8Modulation(network).status()));
  network = RandomTable4(5);
  for (TrainedLayer& layer : network.layers) std::ranges::fill(layer.weights, 3e38f);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeInt8Modulation(network).status()));
  network = RandomTable4(5);
  network.input_range = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(absl::IsInvalidArgument(MakeInt8Modulation(network).status()));
}

TEST(ModulationInt8Test, SampleThatIsNotFiniteGivesNaN) {
  std::mt19937_64 random(6);
  const TrainedModulation network = RandomTable4(6);
  for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
    std::vector<float> burst = RandomBursts(random, 1);
    burst[200] = bad;
    std::array<float, kModulationClasses> logits;
    InferInt8(Int8Of(network), burst, logits);
    for (const float logit : logits) EXPECT_TRUE(std::isnan(logit));
  }
}

TEST(ModulationInt8Test, HugeSamplesSaturate) {
  const Int8Modulation fixed = Int8Of(RandomTable4(7));
  EXPECT_EQ(QuantiseSample(fixed, 1e38f), 127);
  EXPECT_EQ(QuantiseSample(fixed, -1e38f), -127);
  EXPECT_EQ(QuantiseSample(fixed, 0.0f), 0);
}

constexpr ModulationParallelism kEightColumns = {.columns = 8, .rows = 2112};

TEST(ModulationImageTest, HasTheWordsThatTheLogicLoads) {
  const Int8Modulation network = Int8Of(RandomTable4(12));
  const auto words = ModulationParameterWords(network);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(words->size(), ModulationParameterWordCount());
  // With eight columns the network fills the last row.
  const auto fewer = ModulationParameterWords(network, kEightColumns);
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_EQ(fewer->size(), ModulationParameterWordCount(kEightColumns));
  EXPECT_NE((*fewer)[fewer->size() - 2], 0u);
}

TEST(ModulationImageTest, RefusesNetworksThatAreTooLarge) {
  TrainedModulation network = RandomTable4(13);
  network.layers[2].shape.outputs = 128;
  network.layers[3].shape.channels = 128;
  std::mt19937_64 random(13);
  Randomise(random, network);
  const Int8Modulation fixed = Int8Of(network);
  EXPECT_TRUE(absl::IsInvalidArgument(ModulationParameterWords(fixed).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ModulationParameterWords(fixed, kEightColumns).status()));
}

TEST(ModulationImageTest, AMeanTakesOneStepPerChannel) {
  TrainedModulation network = RandomCompact(14);
  const Int8Modulation mean = Int8Of(network);
  network.layers.back().weights[1] += 1.0f;
  const Int8Modulation dense = Int8Of(network);
  EXPECT_EQ(ModulationCycles(dense) - ModulationCycles(mean), 32u * 11 - 32);
}

}  // namespace
}  // namespace tributary::fpga
