#include "fpga/model/positioning_model.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "fpga/model/fixed_point.h"
#include "fpga/model/random_network_fixture.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kInputs = FixedPositioning::kInputs;
constexpr std::size_t kOutputs = FixedPositioning::kOutputs;

constexpr NumberFormat kFixedFormats[] = {NumberFormat::kInt32, NumberFormat::kInt16, NumberFormat::kInt8,
                                          NumberFormat::kInt8Int16};

FixedPositioning ModelOf(const nn::PositioningNetwork& network, NumberFormat format) {
  absl::StatusOr<FixedPositioning> model = MakeFixedPositioning(network, format);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::array<float, kOutputs> Infer(const FixedPositioning& model, std::span<const float> features) {
  std::array<float, kOutputs> outputs;
  InferPositioning(model, features, outputs);
  return outputs;
}

// Largest difference from float over some subjects, relative to the range of the outputs.
double Deviation(NumberFormat format) {
  constexpr std::size_t kSubjects = 8;
  const nn::PositioningNetwork network = RandomPositioningNetwork(7);
  const FixedPositioning model = ModelOf(network, format);
  const std::vector<float> features = RandomFeatures(7, kSubjects);
  std::vector<float> expected(kSubjects * kOutputs);
  nn::PositioningInference(network, kSubjects).Run(features, kSubjects, expected);
  double largest = 0.0;
  for (std::size_t s = 0; s < kSubjects; ++s) {
    const auto actual = Infer(model, std::span(features).subspan(s * kInputs, kInputs));
    for (std::size_t i = 0; i < kOutputs; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - expected[s * kOutputs + i]));
    }
  }
  return largest / network.activation_range[5];
}

TEST(FixedPointTest, RoundsHalvesUp) {
  EXPECT_EQ(RoundShift(6, 2), 2);    // 1.5
  EXPECT_EQ(RoundShift(-6, 2), -1);  // -1.5
  EXPECT_EQ(RoundShift(-7, 2), -2);
  EXPECT_EQ(RoundShift(5, 2), 1);
}

TEST(FixedPointTest, ChoosesTheMostFractionBitsThatStillFit) {
  EXPECT_EQ(FractionBits(127.0, 8), 0);
  EXPECT_EQ(FractionBits(127.5, 8), -1);
  EXPECT_EQ(FractionBits(0.99, 8), 7);
  EXPECT_EQ(FractionBits(1.0, 8), 6);
  EXPECT_EQ(QuantiseWeight(-1.0, 7, 8), -127);
}

TEST(PositioningModelTest, FinerWordsComeCloserToFloat) {
  // A result word of b bits resolves half a unit of 2^-(b-1) of its range at best; the layers before add
  // their own rounding, and 8-bit weights of the widest layer dominate both 8-bit formats.
  EXPECT_LT(Deviation(NumberFormat::kInt32), 1e-5);
  EXPECT_LT(Deviation(NumberFormat::kInt16), 2e-3);
  EXPECT_LT(Deviation(NumberFormat::kInt8Int16), 0.1);
  EXPECT_LT(Deviation(NumberFormat::kInt8), 0.3);
  EXPECT_LT(Deviation(NumberFormat::kInt16), Deviation(NumberFormat::kInt8Int16));
  EXPECT_LT(Deviation(NumberFormat::kInt8Int16), Deviation(NumberFormat::kInt8));
}

TEST(PositioningModelTest, WeightsLeaveOutTheLowestWord) {
  const FixedPositioning model = ModelOf(RandomPositioningNetwork(3), NumberFormat::kInt8Int16);
  for (const FixedDense& dense : model.dense) {
    for (const std::int32_t w : dense.weights) ASSERT_GT(w, MinWord(dense.weight_bits));
  }
}

TEST(PositioningModelTest, NoInputOverflowsAnAccumulator) {
  for (const NumberFormat format : kFixedFormats) {
    nn::PositioningNetwork network = RandomPositioningNetwork(3);
    for (float& w : network.weights[0]) w = 1.0f;  // the largest sums that weights of this size can make
    const FixedPositioning model = ModelOf(network, format);
    int input_bits = model.input_bits;
    for (const FixedDense& dense : model.dense) {
      for (std::size_t row = 0; row < dense.outputs; ++row) {
        double sum = 0.0;
        for (std::size_t i = 0; i < dense.inputs; ++i) sum += std::abs(dense.weights[row * dense.inputs + i]);
        EXPECT_LT(sum * std::ldexp(1.0, input_bits - 1), std::ldexp(1.0, dense.accumulator_bits - 1));
      }
      input_bits = dense.result_bits;
    }
  }
}

TEST(PositioningModelTest, CommonPhaseOfAllAntennasChangesNothing) {
  const nn::PositioningNetwork network = RandomPositioningNetwork(5);
  const FixedPositioning model = ModelOf(network, NumberFormat::kInt32);
  const std::vector<float> features = RandomFeatures(5, 1);
  std::vector<float> turned(kInputs);
  const float angle = 2.0f * std::numbers::pi_v<float> / 7.0f;
  for (std::size_t i = 0; i < kInputs / 2; ++i) {
    const float re = features[i];
    const float im = features[kInputs / 2 + i];
    turned[i] = re * std::cos(angle) - im * std::sin(angle);
    turned[kInputs / 2 + i] = re * std::sin(angle) + im * std::cos(angle);
  }
  const auto expected = Infer(model, features);
  const auto actual = Infer(model, turned);
  // The rotation and the standardisation round 1024 features by 6e-8 each, which the layers add up.
  for (std::size_t i = 0; i < kOutputs; ++i) {
    EXPECT_NEAR(actual[i], expected[i], 2e-5 * network.activation_range[5]);
  }
}

TEST(PositioningModelTest, AlignmentIsIdempotentToTheLastBit) {
  const PositioningInput input{.mean = std::vector<float>(kInputs, 0.0f),
                               .gain = std::vector<float>(kInputs, 1.0f)};
  std::vector<float> once(kInputs);
  std::vector<float> twice(kInputs);
  ASSERT_TRUE(StandardiseFeatures(input, RandomFeatures(11, 1), once));
  ASSERT_TRUE(StandardiseFeatures(input, once, twice));
  EXPECT_EQ(once, twice);
  EXPECT_EQ(once[kInputs / 2], 0.0f);
}

TEST(PositioningModelTest, SilentReferenceAntennaIsNotRotated) {
  const PhaseRotation rotation = AlignmentOf({0.0f, 0.0f});
  EXPECT_EQ(rotation.cosine, 1.0f);
  EXPECT_EQ(rotation.sine, 0.0f);
}

TEST(PositioningModelTest, FeatureThatIsNotFiniteGivesNaN) {
  for (const NumberFormat format : kFixedFormats) {
    const FixedPositioning model = ModelOf(RandomPositioningNetwork(5), format);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> features = RandomFeatures(5, 1);
      features[700] = bad;
      for (const float v : Infer(model, features)) EXPECT_TRUE(std::isnan(v));
    }
  }
}

TEST(PositioningModelTest, HugeFeaturesSaturate) {
  const FixedPositioning model = ModelOf(RandomPositioningNetwork(5), NumberFormat::kInt8Int16);
  EXPECT_EQ(QuantiseFeature(model.input, 1e30f), 127);
  EXPECT_EQ(QuantiseFeature(model.input, -1e30f), -128);
}

TEST(PositioningModelTest, RefusesFloatAndNetworksThatDoNotFit) {
  nn::PositioningNetwork network = RandomPositioningNetwork(1);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFixedPositioning(network, NumberFormat::kFloat).status()));
  network.activation_range[3] = 0.0f;
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFixedPositioning(network, NumberFormat::kInt16).status()));
}

TEST(NumberFormatTest, NamesAreReadBack) {
  for (const NumberFormat format : kNumberFormats)
    EXPECT_EQ(*ParseNumberFormat(NumberFormatName(format)), format);
  EXPECT_FALSE(ParseNumberFormat("int4").ok());
}

}  // namespace
}  // namespace tributary::fpga
