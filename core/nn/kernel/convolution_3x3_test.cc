#include "core/nn/kernel/convolution_3x3.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/kernel/convolution_fixture.h"

namespace tributary::nn {
namespace {

class Convolution3x3Test : public ConvolutionFixture {
 protected:
  static constexpr std::size_t kGroup = Convolution3x3::kGroup;
  Convolution3x3 convolution_{s_.inputs, s_.outputs};
};

TEST_P(Convolution3x3Test, ForwardIsTheCrossCorrelation) {
  const Planes x = RandomPlanes(s_.inputs, 2);
  Planes y(s_.outputs, shape_);
  for (std::size_t o = 0; o < s_.outputs; o += kGroup) convolution_.Forward(weights_, x, o, y);
  ExpectPlanes(y, Forward(x), s_.inputs * 9);
}

TEST_P(Convolution3x3Test, SumsOfIntegersAreExact) {
  Planes x = RandomPlanes(s_.inputs, 2);
  for (std::size_t c = 0; c < s_.inputs; ++c) {
    float* first = x.channel(c);
    std::transform(first, first + shape_.size(), first, [](float v) { return std::round(v * 100); });
  }
  for (float& weight : weights_) weight = std::round(weight * 100);
  Planes y(s_.outputs, shape_);
  for (std::size_t o = 0; o < s_.outputs; o += kGroup) convolution_.Forward(weights_, x, o, y);
  ExpectPlanes(y, Forward(x), 0);
}

TEST_P(Convolution3x3Test, GradientOfTheWeightsIsAddedToWhatWasThere) {
  const Planes x = RandomPlanes(s_.inputs, 2), y_gradient = RandomPlanes(s_.outputs, 3);
  std::vector<float> gradient(weights_.size(), 3.0f);
  for (std::size_t o = 0; o < s_.outputs; o += kGroup) {
    Planes group(kGroup, shape_);
    for (std::size_t c = 0; c < std::min(kGroup, s_.outputs - o); ++c) {
      std::copy_n(y_gradient.channel(o + c), shape_.size(), group.channel(c));
    }
    convolution_.BackwardWeights(x, group, o, gradient);
  }
  ExpectWeights(gradient, WeightGradient(x, y_gradient, 3.0));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Convolution3x3Test, kConvolutionShapes);

}  // namespace
}  // namespace tributary::nn
