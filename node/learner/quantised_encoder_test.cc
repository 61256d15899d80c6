// What a quantised encoder learns must be what the convolution unit computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/quantised_weights.h"
#include "core/nn/kernel/random_stream.h"
#include "fpga/model/convolution.h"

namespace tributary {
namespace {

constexpr std::size_t kBatch = 3;
constexpr std::size_t kSide = 28;

using Bytes = std::vector<std::uint8_t>;

EncoderOptions Quantised(std::vector<std::size_t> channels) {
  EncoderOptions options;
  options.side = kSide;
  options.channels = std::move(channels);
  options.grid = kSide >> options.channels.size();  // areas of one pixel: the activations themselves
  options.norm = EncoderNorm::kNone;
  options.activation = EncoderActivation::kHardClip;
  options.quantised = true;
  return options;
}

Bytes RandomPixels(std::size_t count) {
  Bytes pixels(count);
  RandomStream random(5);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  return pixels;
}

std::vector<float> RandomWeights(std::size_t count, double deviation) {
  std::vector<float> weights(count);
  RandomStream random(6);
  for (float& weight : weights) weight = static_cast<float>(deviation * random.Normal());
  return weights;
}

Kernel WordsOf(std::span<const float> weights, std::size_t inputs) {
  std::vector<float> quantised(weights.size());
  QuantiseKernels(weights, inputs, quantised);
  Kernel kernel;
  for (std::size_t t = 0; t < kKernelTaps; ++t) {
    kernel[t] = static_cast<std::int16_t>(std::lround(quantised[t] / kKernelUnit));
  }
  return kernel;
}

Bytes MaxPool(const Bytes& image, std::size_t side) {
  Bytes pooled;
  for (std::size_t y = 0; y + 1 < side; y += 2) {
    for (std::size_t x = 0; x + 1 < side; x += 2) {
      const std::uint8_t* at = image.data() + y * side + x;
      pooled.push_back(std::max({at[0], at[1], at[side], at[side + 1]}));
    }
  }
  return pooled;
}

// The unit's arithmetic over several input channels: all products summed before shift and clip.
Bytes ConvolveChannels(const std::vector<Bytes>& inputs, std::span<const float> weights, std::size_t side) {
  std::vector<std::int32_t> sums(side * side, 0);
  for (std::size_t c = 0; c < inputs.size(); ++c) {
    const Kernel kernel = WordsOf(weights.subspan(c * kKernelTaps, kKernelTaps), inputs.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t tap = 0; tap < kKernelTaps; ++tap) {
        const std::size_t y = i / side + tap / kKernelSide, x = i % side + tap % kKernelSide;  // plus one
        if (y == 0 || y > side || x == 0 || x > side) continue;
        sums[i] += kernel[tap] * inputs[c][(y - 1) * side + x - 1];
      }
    }
  }
  Bytes output;
  for (const std::int32_t sum : sums) output.push_back(ShiftAndClip(sum, kCoefficientShift));
  return output;
}

class QuantisedEncoderTest : public ::testing::Test {
 protected:
  // Feature-major activations in units of 1/256.
  std::vector<float> Infer(const EncoderOptions& options, std::span<const float> parameters,
                           std::span<const std::uint8_t> images) {
    const ParameterLayout layout(EncoderTensors(options));
    Encoder encoder(options, layout, kBatch);
    EncoderPass pass(options, kBatch);
    std::vector<float> features(options.feature_count() * kBatch);
    encoder.Infer(parameters, images, pass, features);
    for (float& value : features) value /= kPixelUnit;
    return features;
  }
};

TEST_F(QuantisedEncoderTest, OneStageGivesTheUnitsPixels) {
  const EncoderOptions options = Quantised({8});
  std::vector<float> weights = RandomWeights(8 * kKernelTaps, 0.5);
  weights[3] = 20;  // beyond what 12 bits can say
  weights[12] = -20;
  const Bytes images = RandomPixels(kBatch * kSide * kSide);
  const std::vector<float> activations = Infer(options, weights, images);
  const std::size_t areas = options.grid * options.grid;
  for (std::size_t n = 0; n < kBatch; ++n) {
    const std::span image = std::span(images).subspan(n * kSide * kSide, kSide * kSide);
    for (std::size_t o = 0; o < 8; ++o) {
      const Kernel kernel = WordsOf(std::span(weights).subspan(o * kKernelTaps, kKernelTaps), 1);
      const Bytes expected = MaxPool(Convolve(image, kSide, kernel, kCoefficientShift, /*pad=*/true), kSide);
      for (std::size_t i = 0; i < areas; ++i) {
        ASSERT_EQ(activations[(o * areas + i) * kBatch + n], expected[i]) << "channel " << o << ", " << i;
      }
    }
  }
}

TEST_F(QuantisedEncoderTest, DeeperStagesSumAllChannelsBeforeShiftAndClip) {
  const EncoderOptions options = Quantised({8, 16, 5});
  const ParameterLayout layout(EncoderTensors(options));
  const std::vector<float> weights = RandomWeights(layout.size(), 0.2);
  const Bytes images = RandomPixels(kBatch * kSide * kSide);
  const std::vector<float> activations = Infer(options, weights, images);
  const std::size_t areas = options.grid * options.grid;
  std::size_t inside = 0;  // neither 0 nor 255: the comparison must not be one of clipped values only
  for (std::size_t n = 0; n < kBatch; ++n) {
    const auto first = images.begin() + static_cast<std::ptrdiff_t>(n * kSide * kSide);
    std::vector<Bytes> x = {Bytes(first, first + kSide * kSide)};
    std::size_t side = kSide;
    for (std::size_t stage = 0; stage < options.channels.size(); ++stage, side /= 2) {
      const std::span kernels =
          layout.Range("encoder.conv" + std::to_string(stage + 1) + ".weight").Of(std::span(weights));
      std::vector<Bytes> y;
      const std::size_t size = x.size() * kKernelTaps;
      for (std::size_t o = 0; o < options.channels[stage]; ++o) {
        y.push_back(MaxPool(ConvolveChannels(x, kernels.subspan(o * size, size), side), side));
      }
      x = std::move(y);
    }
    for (std::size_t o = 0; o < x.size(); ++o) {
      for (std::size_t i = 0; i < areas; ++i) {
        ASSERT_EQ(activations[(o * areas + i) * kBatch + n], x[o][i]) << "channel " << o << ", " << i;
        inside += x[o][i] != 0 && x[o][i] != 255;
      }
    }
  }
  EXPECT_GT(inside, 10u);
}

}  // namespace
}  // namespace tributary
