#include "core/nn/kernel/winograd_3x3.h"

#include <vector>

#include "core/nn/kernel/convolution_fixture.h"

namespace tributary::nn {
namespace {

class Winograd3x3Test : public ConvolutionFixture {
 protected:
  Winograd3x3 convolution_{s_.inputs, s_.outputs, shape_};
};

TEST_P(Winograd3x3Test, ForwardIsTheCrossCorrelation) {
  const Planes x = RandomPlanes(s_.inputs, 2);
  Planes y(s_.outputs, shape_);
  convolution_.Forward(weights_, x, y);
  ExpectPlanes(y, Forward(x), s_.inputs * 9);
}

TEST_P(Winograd3x3Test, GradientOfTheInputIsTheTransposedSum) {
  const Planes y_gradient = RandomPlanes(s_.outputs, 3);
  Planes x_gradient(s_.inputs, shape_);
  convolution_.BackwardInput(weights_, y_gradient, x_gradient);
  ExpectPlanes(x_gradient, InputGradient(y_gradient), s_.outputs * 9);
}

TEST_P(Winograd3x3Test, GradientOfTheWeightsIsAddedToWhatWasThere) {
  const Planes x = RandomPlanes(s_.inputs, 2), y_gradient = RandomPlanes(s_.outputs, 3);
  std::vector<float> gradient(weights_.size(), 3.0f);
  convolution_.BackwardWeights(x, y_gradient, gradient);
  ExpectWeights(gradient, WeightGradient(x, y_gradient, 3.0));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd3x3Test, kConvolutionShapes);

}  // namespace
}  // namespace tributary::nn
