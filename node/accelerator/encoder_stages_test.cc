// A quantised encoder must learn with exactly the tensor unit's arithmetic.
#include "node/accelerator/encoder_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/random_stream.h"
#include "node/accelerator/quantised_encoder_fixture.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::accelerator {
namespace {

using testing::HasSubstr;

using Pixels = std::vector<std::uint8_t>;

constexpr std::size_t kStagesBatch = 3;

// An encoder with random weights, of which some are beyond what 8 bits can say.
class EncoderStagesTest : public ::testing::TestWithParam<nn::EncoderOptions> {
 protected:
  EncoderStagesTest() {
    for (std::uint8_t& pixel : images_) pixel = static_cast<std::uint8_t>(random_.Below(256));
    DrawWeights();
  }

  void DrawWeights() {
    for (float& weight : weights_) weight = static_cast<float>(0.25 * random_.Normal());
    weights_[3] = 20;
    weights_[5] = -20;
    kernels_.clear();
    std::size_t inputs = options_.input_channels;
    for (std::size_t i = 0; i < options_.channels.size(); ++i) {
      const auto range = layout_.Range("encoder.conv" + std::to_string(i + 1) + ".weight");
      std::vector<std::int8_t> words(range.size);
      nn::QuantiseKernels(range.Of(std::span<const float>(weights_)), inputs, words);
      kernels_.insert(kernels_.end(), words.begin(), words.end());
      inputs = options_.channels[i];
    }
  }

  std::unique_ptr<EncoderStages> Stages() {
    auto stages = EncoderStages::Create(options_, kStagesBatch, unit_);
    EXPECT_TRUE(stages.ok()) << stages.status();
    return *std::move(stages);
  }

  // What the processor's encoder computes for the stage: [batch × outputs × side × side].
  Pixels OfProcessor(std::size_t stage) {
    nn::Encoder encoder(options_, layout_, kStagesBatch);
    nn::EncoderPass pass(options_, kStagesBatch);
    std::vector<float> features(options_.feature_count() * kStagesBatch);
    encoder.Forward(nn::EncoderStatistics::kRunning, weights_, images_, pass, features);
    const nn::Planes& raw = pass.stages[stage].raw;
    const std::size_t side = raw.shape().side;
    Pixels pixels;
    for (std::size_t n = 0; n < kStagesBatch; ++n) {
      for (std::size_t c = 0; c < raw.channels(); ++c) {
        for (std::size_t i = 0; i < side * side; ++i) {
          const std::size_t at = i / side * raw.shape().pitch() + i % side * raw.shape().lanes() + n;
          pixels.push_back(static_cast<std::uint8_t>(raw.channel(c)[at] / nn::kPixelUnit));
        }
      }
    }
    return pixels;
  }

  void ExpectEqualStages(const EncoderStages& stages) {
    std::size_t inside = 0;  // neither 0 nor 255: clipped values would compare equal
    for (std::size_t stage = 0; stage < options_.channels.size(); ++stage) {
      const Pixels expected = OfProcessor(stage);
      ASSERT_TRUE(std::ranges::equal(stages.Result(stage), expected)) << "stage " << stage;
      inside += static_cast<std::size_t>(
          std::ranges::count_if(expected, [](std::uint8_t pixel) { return pixel != 0 && pixel != 255; }));
    }
    EXPECT_GT(inside, 100u);
  }

  const nn::EncoderOptions options_ = GetParam();
  const nn::ParameterLayout layout_{nn::EncoderTensors(options_)};
  nn::RandomStream random_{5};
  Pixels images_ = Pixels(kStagesBatch * options_.image().size());
  std::vector<float> weights_ = std::vector<float>(layout_.size());
  std::vector<std::int8_t> kernels_;
  TensorModelTarget unit_{fpga::TensorUnitSize()};
};

TEST_P(EncoderStagesTest, GiveTheBitsOfTheProcessorsEncoder) {
  const auto stages = Stages();
  ASSERT_EQ(stages->Compute(images_, kernels_), absl::OkStatus());
  ExpectEqualStages(*stages);
}

TEST_P(EncoderStagesTest, FollowTheWeights) {
  const auto stages = Stages();
  ASSERT_EQ(stages->Compute(images_, kernels_), absl::OkStatus());
  DrawWeights();
  ASSERT_EQ(stages->Compute(images_, kernels_), absl::OkStatus());
  ExpectEqualStages(*stages);
  std::ranges::reverse(images_);
  ASSERT_EQ(stages->Compute(images_, kernels_), absl::OkStatus());
  ExpectEqualStages(*stages);
}

// Sums of products in integers, to the nearest multiple of 128 with ties to even, clipped to 8 bits.
TEST_P(EncoderStagesTest, SumAllChannelsBeforeTheyRoundAndClip) {
  const auto stages = Stages();
  ASSERT_EQ(stages->Compute(images_, kernels_), absl::OkStatus());
  const std::size_t inputs = options_.input_channels, outputs = options_.channels[0];
  const auto side = static_cast<int>(options_.side);
  for (std::size_t at = 0; at < stages->Result(0).size(); ++at) {
    const std::size_t plane = options_.side * options_.side;
    const std::size_t n = at / plane / outputs, output = at / plane % outputs;
    const int y = static_cast<int>(at % plane) / side, x = static_cast<int>(at % plane) % side;
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < inputs; ++c) {
      for (int tap = 0; tap < 9; ++tap) {
        const int row = y + tap / 3 - 1, column = x + tap % 3 - 1;
        if (row < 0 || row >= side || column < 0 || column >= side) continue;
        const std::uint8_t pixel =
            images_[(n * inputs + c) * plane + static_cast<std::size_t>(row * side + column)];
        sum += kernels_[(output * inputs + c) * 9 + static_cast<std::size_t>(tap)] * pixel;
      }
    }
    const double expected = std::clamp(std::nearbyint(static_cast<double>(sum) / 128), 0.0, 255.0);
    ASSERT_EQ(stages->Result(0)[at], expected) << at;
  }
}

TEST_P(EncoderStagesTest, TakeNoMoreThanTheirBytes) {
  const auto stages = Stages();
  // While other weights are compiled, there is a second program.
  const fpga::TensorUnitSize size;
  std::uint64_t held = 2 * stages->section_bytes() - std::uint64_t{size.activations} * size.lanes;
  held += images_.size() + kernels_.size();
  for (std::size_t stage = 0; stage < options_.channels.size(); ++stage) held += stages->Result(stage).size();
  EXPECT_LE(held, EncoderStages::Bytes(options_, kStagesBatch, unit_));
  EXPECT_LT(EncoderStages::Bytes(options_, kStagesBatch, unit_), 3 * held) << "a bound that means something";
}

INSTANTIATE_TEST_SUITE_P(Encoders, EncoderStagesTest,
                         testing::Values(QuantisedEncoder(28, 1, {16, 32, 64}), QuantisedEncoder(21, 1, {5}),
                                         QuantisedEncoder(32, 3, {8, 20}),
                                         QuantisedEncoder(31, 3, {5, 6, 7, 8}),
                                         QuantisedEncoder(64, 3, {20})),
                         [](const auto& shown) {
                           return std::to_string(shown.param.side) + "x" +
                                  std::to_string(shown.param.channels.size());
                         });

class EncoderStagesFaultTest : public ::testing::Test {
 protected:
  static std::string Refused(const nn::EncoderOptions& options) {
    const TensorModelTarget unit{fpga::TensorUnitSize()};
    const auto stages = EncoderStages::Create(options, 2, unit);
    EXPECT_FALSE(stages.ok());
    return std::string(stages.status().message());
  }
};

TEST_F(EncoderStagesFaultTest, RefuseFloats) {
  nn::EncoderOptions options = QuantisedEncoder(28, 1, {16});
  options.quantised = false;
  EXPECT_THAT(Refused(options), HasSubstr("not quantised"));
}

TEST_F(EncoderStagesFaultTest, RefuseWhatDoesNotFitTheUnit) {
  EXPECT_THAT(Refused(QuantisedEncoder(64, 3, {128})), HasSubstr("conv1 does not fit the tensor unit"));
}

TEST_F(EncoderStagesFaultTest, RefuseOtherNumbersOfPixelsAndWeights) {
  const TensorModelTarget unit{fpga::TensorUnitSize()};
  const auto stages = *EncoderStages::Create(QuantisedEncoder(28, 1, {4}), 1, unit);
  const Pixels images(28 * 28);
  const std::vector<std::int8_t> kernels(4 * 9);
  EXPECT_EQ(stages->Compute(images, kernels), absl::OkStatus());
  EXPECT_EQ(stages->Compute(std::span(images).first(27 * 28), kernels).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stages->Compute(images, std::span(kernels).first(9)).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::accelerator
