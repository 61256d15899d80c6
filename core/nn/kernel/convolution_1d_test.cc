#include "core/nn/kernel/convolution_1d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

struct NamedShape {
  std::string name;
  Convolution1dShape shape;
};

// Sums in double, with the sum of their magnitudes: the bound of rounding is a multiple of that.
struct ReferenceSums {
  explicit ReferenceSums(std::size_t count) : sums(count), magnitudes(count) {}

  void Add(std::size_t at, double product) {
    sums[at] += product;
    magnitudes[at] += std::abs(product);
  }

  std::vector<double> sums, magnitudes;
};

class Convolution1dTest : public ::testing::TestWithParam<NamedShape> {
 protected:
  const Convolution1dShape s_ = GetParam().shape;
  const std::vector<float> x_ = RandomValues(s_.inputs * s_.length * kSequenceLanes, 1);
  const std::vector<float> weights_ = RandomValues(s_.weights(), 2);
  const std::vector<float> bias_ = RandomValues(s_.outputs, 3);
  const std::vector<float> y_gradient_ = RandomValues(s_.outputs * s_.output_length() * kSequenceLanes, 4);

  static AlignedFloats Aligned(const std::vector<float>& values) {
    AlignedFloats aligned = AllocateFloats(values.size());
    std::ranges::copy(values, aligned.get());
    return aligned;
  }

  // Calls visit(index in x, in the weights, in y) for every product of the definition.
  template <class Visit>
  void ForEachProduct(Visit visit) const {
    const std::size_t inputs = s_.group_inputs(), outputs = s_.group_outputs();
    for (std::size_t o = 0; o < s_.outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        const std::size_t channel = o / outputs * inputs + i;
        for (std::size_t tap = 0; tap < s_.kernel; ++tap) {
          for (std::size_t t = 0; t < s_.output_length(); ++t) {
            for (std::size_t n = 0; n < kSequenceLanes; ++n) {
              visit((channel * s_.length + t * s_.stride + tap) * kSequenceLanes + n,
                    (o * inputs + i) * s_.kernel + tap, (o * s_.output_length() + t) * kSequenceLanes + n);
            }
          }
        }
      }
    }
  }

  // |error| <= n · 2^-24 · Σ |terms| for a sum of n terms in any order (Higham, Accuracy and Stability,
  // section 4.2); one more for what was there before.
  static void ExpectSums(const float* values, const ReferenceSums& expected, std::size_t terms) {
    for (std::size_t i = 0; i < expected.sums.size(); ++i) {
      const double bound = static_cast<double>(terms + 1) * 0x1p-24 * (expected.magnitudes[i] + 1);
      ASSERT_NEAR(values[i], expected.sums[i], bound) << i;
    }
  }
};

TEST_P(Convolution1dTest, ForwardIsTheDefinition) {
  Convolution1d convolution(s_);
  const AlignedFloats x = Aligned(x_);
  const AlignedFloats y = AllocateFloats(y_gradient_.size());
  for (const bool with_bias : {true, false}) {
    ReferenceSums expected(y_gradient_.size());
    ForEachProduct([&](std::size_t x_at, std::size_t w_at, std::size_t y_at) {
      expected.Add(y_at, double{x_[x_at]} * weights_[w_at]);
    });
    for (std::size_t i = 0; with_bias && i < expected.sums.size(); ++i) {
      expected.Add(i, bias_[i / (s_.output_length() * kSequenceLanes)]);
    }
    convolution.SetWeights(weights_, with_bias ? std::span<const float>(bias_) : std::span<const float>());
    std::fill_n(y.get(), y_gradient_.size(), std::nanf(""));  // whatever was there is overwritten
    convolution.Forward(x.get(), y.get());
    ExpectSums(y.get(), expected, s_.group_inputs() * s_.kernel + 1);
  }
}

TEST_P(Convolution1dTest, AddsTheGradientOfTheWeights) {
  Convolution1d convolution(s_);
  ReferenceSums expected(s_.weights()), expected_bias(s_.outputs);
  ForEachProduct([&](std::size_t x_at, std::size_t w_at, std::size_t y_at) {
    expected.Add(w_at, double{x_[x_at]} * y_gradient_[y_at]);
  });
  for (std::size_t i = 0; i < y_gradient_.size(); ++i) {
    expected_bias.Add(i / (s_.output_length() * kSequenceLanes), y_gradient_[i]);
  }
  for (auto* sums : {&expected, &expected_bias}) {
    for (double& sum : sums->sums) sum += 1;
  }
  std::vector<float> gradient(s_.weights(), 1.0f), bias_gradient(s_.outputs, 1.0f);
  convolution.BackwardWeights(Aligned(x_).get(), Aligned(y_gradient_).get(), gradient, bias_gradient);
  const std::size_t terms = s_.output_length() * kSequenceLanes;
  ExpectSums(gradient.data(), expected, terms);
  ExpectSums(bias_gradient.data(), expected_bias, terms);
}

TEST_P(Convolution1dTest, WritesTheGradientOfTheInput) {
  Convolution1d convolution(s_);
  convolution.SetWeights(weights_, {});
  ReferenceSums expected(x_.size());
  ForEachProduct([&](std::size_t x_at, std::size_t w_at, std::size_t y_at) {
    expected.Add(x_at, double{weights_[w_at]} * y_gradient_[y_at]);
  });
  const AlignedFloats x_gradient = AllocateFloats(x_.size());
  for (int pass = 0; pass < 2; ++pass) {  // the second one finds the buffer as the first one left it
    std::fill_n(x_gradient.get(), x_.size(), std::nanf(""));
    convolution.BackwardInput(Aligned(y_gradient_).get(), x_gradient.get());
    ExpectSums(x_gradient.get(), expected, s_.group_outputs() * s_.kernel);
  }
}

// Below, at and across the tiles (8 outputs × 3 vectors, 4 × 2 or 1 × 8), with and without steps that meet no
// kernel.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolution1dTest,
    ::testing::Values(
        NamedShape{"OneWeight", {}},
        NamedShape{"FirstLayer", {.inputs = 2, .outputs = 32, .length = 128, .kernel = 8}},
        NamedShape{"OddOutputs", {.inputs = 3, .outputs = 13, .length = 20, .kernel = 5}},
        NamedShape{"KernelAsLongAsTheInput", {.inputs = 4, .outputs = 9, .length = 7, .kernel = 7}},
        NamedShape{"Dense", {.inputs = 352, .outputs = 10}},
        NamedShape{"Pointwise", {.inputs = 5, .outputs = 8, .length = 11}},
        NamedShape{"Strided", {.inputs = 3, .outputs = 8, .length = 17, .kernel = 4, .stride = 2}},
        NamedShape{"StrideBeyondTheKernel",
                   {.inputs = 2, .outputs = 3, .length = 12, .kernel = 2, .stride = 5}},
        NamedShape{"StridedPointwise", {.inputs = 2, .outputs = 4, .length = 6, .stride = 3}},
        NamedShape{"Depthwise", {.inputs = 7, .outputs = 7, .length = 30, .kernel = 5, .groups = 7}},
        NamedShape{"StridedDepthwise",
                   {.inputs = 4, .outputs = 4, .length = 16, .kernel = 3, .stride = 2, .groups = 4}},
        NamedShape{"Groups", {.inputs = 6, .outputs = 20, .length = 9, .kernel = 3, .groups = 2}},
        NamedShape{"GroupsOfOneInput", {.inputs = 3, .outputs = 6, .length = 9, .kernel = 3, .groups = 3}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tributary::nn
