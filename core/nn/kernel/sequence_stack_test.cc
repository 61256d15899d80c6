#include "core/nn/kernel/sequence_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

using Kind = SequenceLayerKind;

constexpr SequenceShape kStackInput = {2, 23};
constexpr SequenceLayer kEveryLayer[] = {
    {.kind = Kind::kConvolution, .name = "a", .outputs = 6, .size = 4, .bias = true, .relu = true},  // 6 × 20
    {.kind = Kind::kMaxPool, .size = 3},                                                             // 6 × 6
    {.kind = Kind::kConvolution, .name = "b", .outputs = 6, .size = 3, .groups = 6},                 // 6 × 4
    {.kind = Kind::kConvolution, .name = "c", .outputs = 5, .size = 1, .bias = true},                // 5 × 4
    {.kind = Kind::kDense, .name = "d", .outputs = 7, .relu = true},                                 // 7 × 1
    {.kind = Kind::kDense, .name = "e", .outputs = 3},                                               // 3 × 1
};
constexpr SequenceLayer kWithMean[] = {
    {.kind = Kind::kConvolution, .name = "a", .outputs = 4, .size = 2, .stride = 3, .relu = true},  // 4 × 8
    {.kind = Kind::kMean},                                                                          // 4 × 1
    {.kind = Kind::kDense, .name = "b", .outputs = 3, .bias = true},                                // 3 × 1
};

TEST(SequenceStackTest, KnowsTheShapesTensorsAndMultiplications) {
  EXPECT_EQ(SequenceShapes(kStackInput, kEveryLayer),
            (std::vector<SequenceShape>{{6, 20}, {6, 6}, {6, 4}, {5, 4}, {7, 1}, {3, 1}}));
  EXPECT_EQ(SequenceMultiplications(kStackInput, kEveryLayer),
            6u * 2 * 4 * 20 + 6 * 3 * 4 + 5 * 6 * 4 + 7 * 20 + 3 * 7);
  const auto tensors = SequenceTensors(kStackInput, kEveryLayer);
  ASSERT_EQ(tensors.size(), 7u);
  EXPECT_EQ(tensors[0].name, "a.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{6, 2, 4}));
  EXPECT_EQ(tensors[1].name, "a.bias");
  EXPECT_EQ(tensors[2].shape, (std::vector<std::uint64_t>{6, 1, 3}));
  EXPECT_EQ(tensors[5].shape, (std::vector<std::uint64_t>{7, 20}));
}

// The mean of x[t] · 2 over pairs of maxima, by hand.
TEST(SequenceStackTest, PoolsAndAveragesEachLaneByItself) {
  constexpr SequenceLayer kLayers[] = {
      {.kind = Kind::kConvolution, .name = "a", .outputs = 1},
      {.kind = Kind::kMaxPool, .size = 2},
      {.kind = Kind::kMean},
  };
  const ParameterLayout layout(SequenceTensors({1, 5}, kLayers));
  SequenceStack stack({1, 5}, kLayers, layout);
  stack.SetParameters(std::vector<float>{2});
  for (std::size_t n = 0; n < kSequenceLanes; ++n) {
    const float lane = static_cast<float>(n);
    const float steps[] = {lane, -1, -2, lane + 1, 100};  // an incomplete window ends it
    for (std::size_t t = 0; t < 5; ++t) stack.input()[t * kSequenceLanes + n] = steps[t];
  }
  const auto output = stack.Forward();
  for (std::size_t n = 0; n < kSequenceLanes; ++n) {
    EXPECT_FLOAT_EQ(output[n], 2 * (static_cast<float>(n) + static_cast<float>(n) + 1) / 2);
  }
  std::vector<float> ranges(3);
  stack.UpdateRanges(/*lanes=*/4, ranges);
  EXPECT_EQ(ranges, (std::vector<float>{200, 8, 7}));
}

class SequenceGradientTest : public ::testing::TestWithParam<std::span<const SequenceLayer>> {
 protected:
  // Σ output · direction over the lanes: its gradient is what Backward gives for `direction`.
  double Along(std::span<const float> parameters) {
    stack_.SetParameters(parameters);
    const auto output = stack_.Forward();
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) sum += double{output[i]} * direction_[i];
    return sum;
  }

  const ParameterLayout layout_{SequenceTensors(kStackInput, GetParam())};
  SequenceStack stack_{kStackInput, GetParam(), layout_};
  const std::vector<float> direction_ = RandomValues(stack_.output_shape().size() * kSequenceLanes, 9);
};

// A difference over a step h errs by 2^-24 · |values| / h in single precision: below 1e-2 of the sums here.
// The function is linear between the places where a ReLU or a maximum switches; if the slopes on both sides
// differ, such a place lies within the step and says nothing.
TEST_P(SequenceGradientTest, AgreesWithFiniteDifferences) {
  constexpr float kStep = 1e-3f;
  std::ranges::copy(RandomValues(kStackInput.size() * kSequenceLanes, 7), stack_.input().begin());
  std::vector<float> parameters = RandomValues(layout_.size(), 8, 0.5f);
  std::vector<float> gradient(layout_.size(), 1.0f);
  const double middle = Along(parameters);
  stack_.Backward(direction_, gradient);
  std::size_t switches = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float before = parameters[i];
    const auto slope = [&](float step) {
      parameters[i] = before + step;
      const double taken = double{parameters[i]} - before, along = Along(parameters);
      parameters[i] = before;
      return (along - middle) / taken;
    };
    const double up = slope(kStep), down = slope(-kStep), tolerance = 0.02 * (1 + std::abs(up));
    if (std::abs(up - down) > tolerance) {
      ++switches;
      continue;
    }
    EXPECT_NEAR(gradient[i], 1.0 + (up + down) / 2, tolerance) << i;  // it was added to 1
  }
  EXPECT_LT(switches, parameters.size() / 5);
}

INSTANTIATE_TEST_SUITE_P(Layers, SequenceGradientTest,
                         ::testing::Values(std::span<const SequenceLayer>(kEveryLayer),
                                           std::span<const SequenceLayer>(kWithMean)),
                         [](const auto& test) { return test.index == 0 ? "EveryLayer" : "WithMean"; });

}  // namespace
}  // namespace tributary::nn
