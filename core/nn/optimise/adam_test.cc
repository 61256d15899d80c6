#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {
namespace {

// Kingma & Ba, algorithm 1, in double.
class ReferenceAdam {
 public:
  explicit ReferenceAdam(std::size_t count) : m_(count), v_(count) {}

  void Step(std::vector<double>& parameters, const std::vector<float>& gradient, double rate) {
    ++t_;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double g = gradient[i];
      m_[i] = 0.9 * m_[i] + 0.1 * g;
      v_[i] = 0.999 * v_[i] + 0.001 * g * g;
      const double m = m_[i] / (1 - std::pow(0.9, t_));
      const double v = v_[i] / (1 - std::pow(0.999, t_));
      parameters[i] -= rate * m / (std::sqrt(v) + 1e-8);
    }
  }

 private:
  int t_ = 0;
  std::vector<double> m_, v_;
};

// A step changes a parameter by at most a few times the rate; each of 100 steps rounds that by some 1e-6
// (single-precision moments, 1 - 0.999 rounded to 24 bits: 6e-5 relative).
TEST(AdamTest, FollowsTheAlgorithm) {
  constexpr std::size_t kCount = 67;  // not a multiple of any vector length
  constexpr double kRate = 1e-2;
  Adam adam(kCount);
  ReferenceAdam reference(kCount);
  std::vector<float> parameters = RandomValues(kCount, 1);
  std::vector<double> expected(parameters.begin(), parameters.end());
  for (unsigned step = 0; step < 100; ++step) {
    const std::vector<float> gradient = RandomValues(kCount, 100 + step);
    adam.Step(parameters, gradient, kRate);
    reference.Step(expected, gradient, kRate);
  }
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(parameters[i], expected[i], 100 * kRate * 1e-4);
}

TEST(AdamTest, FirstStepMovesByTheLearningRateAgainstTheGradient) {
  Adam adam(2);
  std::vector<float> parameters = {1, 1};
  adam.Step(parameters, std::vector<float>{3.0f, -1e-3f}, 0.25);
  EXPECT_NEAR(parameters[0], 0.75, 1e-4);
  EXPECT_NEAR(parameters[1], 1.25, 1e-4);
}

}  // namespace
}  // namespace tributary::nn
