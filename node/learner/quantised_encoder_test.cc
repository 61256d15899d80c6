// The quantised encoder must learn with exactly the convolution unit's arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/random_stream.h"
#include "fpga/model/convolution.h"

namespace tributary::learner {
namespace {

constexpr std::size_t kBatch = 3;
constexpr std::size_t kSide = 28;

using Bytes = std::vector<std::uint8_t>;

nn::EncoderOptions Quantised(std::vector<std::size_t> channels) {
  nn::EncoderOptions options;
  options.side = kSide;
  options.channels = std::move(channels);
  options.grid = kSide >> options.channels.size();  // areas of one pixel: the activations themselves
  options.norm = nn::EncoderNorm::kNone;
  options.activation = nn::EncoderActivation::kHardClip;
  options.quantised = true;
  return options;
}

Bytes RandomPixels(std::size_t count) {
  Bytes pixels(count);
  nn::RandomStream random(5);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  return pixels;
}

std::vector<float> RandomWeights(std::size_t count, double deviation) {
  std::vector<float> weights(count);
  nn::RandomStream random(6);
  for (float& weight : weights) weight = static_cast<float>(deviation * random.Normal());
  return weights;
}

fpga::Kernel WordsOf(std::span<const float> weights, std::size_t inputs) {
  std::vector<float> quantised(weights.size());
  nn::QuantiseKernels(weights, inputs, quantised);
  fpga::Kernel kernel;
  for (std::size_t t = 0; t < fpga::kKernelTaps; ++t) {
    kernel[t] = static_cast<std::int16_t>(std::lround(quantised[t] / nn::kKernelUnit));
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
    const fpga::Kernel kernel =
        WordsOf(weights.subspan(c * fpga::kKernelTaps, fpga::kKernelTaps), inputs.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t tap = 0; tap < fpga::kKernelTaps; ++tap) {
        const std::size_t y = i / side + tap / fpga::kKernelSide,
                          x = i % side + tap % fpga::kKernelSide;  // plus one
        if (y == 0 || y > side || x == 0 || x > side) continue;
        sums[i] += kernel[tap] * inputs[c][(y - 1) * side + x - 1];
      }
    }
  }
  Bytes output;
  for (const std::int32_t sum : sums) output.push_back(fpga::ShiftAndClip(sum, fpga::kCoefficientShift));
  return output;
}

class QuantisedEncoderTest : public ::testing::Test {
 protected:
  // Feature-major activations in units of 1/256.
  std::vector<float> Infer(const nn::EncoderOptions& options, std::span<const float> parameters,
                           std::span<const std::uint8_t> images) {
    const nn::ParameterLayout layout(nn::EncoderTensors(options));
    nn::Encoder encoder(options, layout, kBatch);
    nn::EncoderPass pass(options, kBatch);
    std::vector<float> features(options.feature_count() * kBatch);
    encoder.Forward(nn::EncoderStatistics::kRunning, parameters, images, pass, features);
    for (float& value : features) value /= nn::kPixelUnit;
    return features;
  }
};

TEST_F(QuantisedEncoderTest, OneStageGivesTheUnitsPixels) {
  const nn::EncoderOptions options = Quantised({8});
  std::vector<float> weights = RandomWeights(8 * fpga::kKernelTaps, 0.5);
  weights[3] = 20;  // beyond what 12 bits can say
  weights[12] = -20;
  const Bytes images = RandomPixels(kBatch * kSide * kSide);
  const std::vector<float> activations = Infer(options, weights, images);
  const std::size_t areas = options.grid * options.grid;
  for (std::size_t n = 0; n < kBatch; ++n) {
    const std::span image = std::span(images).subspan(n * kSide * kSide, kSide * kSide);
    for (std::size_t o = 0; o < 8; ++o) {
      const fpga::Kernel kernel =
          WordsOf(std::span(weights).subspan(o * fpga::kKernelTaps, fpga::kKernelTaps), 1);
      const Bytes expected =
          MaxPool(fpga::Convolve(image, kSide, kernel, fpga::kCoefficientShift, /*pad=*/true), kSide);
      for (std::size_t i = 0; i < areas; ++i) {
        ASSERT_EQ(activations[(o * areas + i) * kBatch + n], expected[i]) << "channel " << o << ", " << i;
      }
    }
  }
}

TEST_F(QuantisedEncoderTest, DeeperStagesSumAllChannelsBeforeShiftAndClip) {
  const nn::EncoderOptions options = Quantised({8, 16, 5});
  const nn::ParameterLayout layout(nn::EncoderTensors(options));
  const std::vector<float> weights = RandomWeights(layout.size(), 0.2);
  const Bytes images = RandomPixels(kBatch * kSide * kSide);
  const std::vector<float> activations = Infer(options, weights, images);
  const std::size_t areas = options.grid * options.grid;
  std::size_t inside = 0;  // neither 0 nor 255: clipped values would compare equal
  for (std::size_t n = 0; n < kBatch; ++n) {
    const auto first = images.begin() + static_cast<std::ptrdiff_t>(n * kSide * kSide);
    std::vector<Bytes> x = {Bytes(first, first + kSide * kSide)};
    std::size_t side = kSide;
    for (std::size_t stage = 0; stage < options.channels.size(); ++stage, side /= 2) {
      const std::span kernels =
          layout.Range("encoder.conv" + std::to_string(stage + 1) + ".weight").Of(std::span(weights));
      std::vector<Bytes> y;
      const std::size_t size = x.size() * fpga::kKernelTaps;
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
}  // namespace tributary::learner
