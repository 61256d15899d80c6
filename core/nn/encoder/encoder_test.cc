#include "core/nn/encoder/encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kEncoderBatch = 4;

// A smooth norm between kinks: a central difference along a random direction, step 1e-3 in float, sees the
// slope to some per cent; a wrong term of a norm's gradient is of the order of the slope itself.
TEST(QuantiseKernelsTest, RoundsTiesToEvenAndSaturatesAlsoWhatIsNoNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::array<float, 6> weights = {2.5f * kKernelUnit, 3.5f * kKernelUnit, 5,
                                        -kInfinity,         kInfinity,          NAN};
  std::array<std::int8_t, 6> words = {};
  QuantiseKernels(weights, 1, words);
  EXPECT_EQ(words, (std::array<std::int8_t, 6>{2, 4, 127, -127, 127, -127}));
  QuantiseKernels(weights, 64, words);  // sums of 64 channels must stay exact in float32
  EXPECT_EQ(words, (std::array<std::int8_t, 6>{2, 4, 114, -114, 114, -114}));
}

TEST(EncoderTest, SlopeAlongEachTensorAgreesWithTheGradient) {
  for (const EncoderNorm norm : {EncoderNorm::kBatch, EncoderNorm::kFilterResponse, EncoderNorm::kNone}) {
    EncoderOptions options;
    options.side = 9;
    options.channels = {4, 6};
    options.grid = 1;
    options.norm = norm;
    const ParameterLayout layout(EncoderTensors(options));
    Encoder encoder(options, layout, kEncoderBatch);
    EncoderPass pass(options, kEncoderBatch);
    std::vector<float> parameters = RandomValues(layout.size(), 1, 0.5f);
    std::vector<std::uint8_t> images(kEncoderBatch * 81);
    RandomStream random(2);
    for (auto& pixel : images) pixel = static_cast<std::uint8_t>(random.Below(256));
    const std::vector<float> weights = RandomValues(options.feature_count() * kEncoderBatch, 3);
    std::vector<float> features(weights.size()), gradient(layout.size(), 0.0f);
    const auto output = [&] {
      encoder.Forward(EncoderStatistics::kBatch, parameters, images, pass, features);
      double sum = 0;
      for (std::size_t i = 0; i < features.size(); ++i) sum += double{weights[i]} * features[i];
      return sum;
    };
    (void)output();
    encoder.Backward(parameters, pass, weights, gradient);
    for (const parameters::TensorShape& tensor : layout.tensors()) {
      if (tensor.name.find("running") != std::string::npos) continue;
      SCOPED_TRACE(::testing::Message() << tensor.name << " norm " << static_cast<int>(norm));
      const ParameterRange range = layout.Range(tensor.name);
      const std::vector<float> direction = RandomValues(range.size, 4);
      const std::vector<float> kept = parameters;
      constexpr float kStep = 1e-3f;
      double slope = 0, scale = 0;
      const auto moved = [&](float step) {
        for (std::size_t i = 0; i < range.size; ++i) {
          parameters[range.offset + i] = kept[range.offset + i] + step * direction[i];
        }
        const double value = output();
        parameters = kept;
        return value;
      };
      const double difference = (moved(kStep) - moved(-kStep)) / (2 * double{kStep});
      for (std::size_t i = 0; i < range.size; ++i) {
        slope += double{gradient[range.offset + i]} * direction[i];
        scale += std::abs(double{gradient[range.offset + i]} * direction[i]);
      }
      EXPECT_NEAR(slope, difference, 0.03 * scale + 1e-3);
    }
  }
}

}  // namespace
}  // namespace tributary::nn
