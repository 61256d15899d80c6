#include "core/nn/optimise/cross_entropy.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

TEST(LogSoftmaxTest, IsNormalisedAndKnowsItsTemperature) {
  const std::vector<float> logits = {1, 3, -2};
  std::vector<float> log_probabilities(3);
  LogSoftmax(logits, 2.0, log_probabilities);
  double sum = 0;
  for (const float value : log_probabilities) sum += std::exp(value);
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NEAR(log_probabilities[1] - log_probabilities[0], 1, 1e-6);
  EXPECT_NEAR(log_probabilities[0] - log_probabilities[2], 1.5, 1e-6);
}

TEST(LogSoftmaxTest, StaysFiniteForExtremeLogits) {
  std::vector<float> values = {1e30f, -1e30f, 1e30f};
  LogSoftmax(values, 1.0, values);
  EXPECT_NEAR(values[0], -std::log(2.0), 1e-6);
  EXPECT_TRUE(std::isfinite(values[1]));
}

// Central differences in single precision: 2^-24 · loss / step = 1e-4.
TEST(CrossEntropyTest, GradientAgreesWithFiniteDifferences) {
  constexpr std::size_t kClasses = 4, kStride = 3;
  constexpr float kStep = 1e-2f;
  const std::array<std::uint8_t, 2> classes = {3, 0};  // a lane is empty
  std::vector<float> logits = RandomValues(kClasses * kStride, 5, 2.0f);
  std::vector<float> gradient(logits.size()), ignored(logits.size());
  CrossEntropy(logits, kStride, classes, 0.5f, gradient);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float before = logits[i];
    logits[i] = before + kStep;
    const double up = CrossEntropy(logits, kStride, classes, 0.5f, ignored);
    logits[i] = before - kStep;
    const double down = CrossEntropy(logits, kStride, classes, 0.5f, ignored);
    logits[i] = before;
    EXPECT_NEAR(gradient[i], 0.5 * (up - down) / (2 * kStep), 2e-4) << i;
    if (i % kStride == 2) {
      EXPECT_EQ(gradient[i], 0);
    }
  }
}

TEST(CrossEntropyTest, IsTheLogarithmOfTheClassesForEqualLogits) {
  std::vector<float> gradient(10);
  const std::array<std::uint8_t, 1> classes = {7};
  EXPECT_NEAR(CrossEntropy(std::vector<float>(10, 5.0f), 1, classes, 1, gradient), std::log(10), 1e-6);
}

// Classes drawn by the probabilities that the logits give at temperature 2.5. The standard error of the fit
// is about 2.5 / √samples times a factor below 2.
TEST(FitTemperatureTest, FindsTheTemperatureThatDrewTheClasses) {
  constexpr std::size_t kSamples = 40'000, kClasses = 5;
  constexpr double kTemperature = 2.5;
  const std::vector<float> logits = RandomValues(kSamples * kClasses, 3, 4.0f);
  RandomStream random(4);
  std::vector<std::uint8_t> classes;
  for (std::size_t i = 0; i < kSamples; ++i) {
    std::array<float, kClasses> log_probabilities;
    LogSoftmax(std::span(logits).subspan(i * kClasses, kClasses), kTemperature, log_probabilities);
    double left = random.Uniform();
    std::uint8_t drawn = 0;
    while (drawn + 1u < kClasses && (left -= std::exp(log_probabilities[drawn])) > 0) ++drawn;
    classes.push_back(drawn);
  }
  EXPECT_NEAR(FitTemperature(logits, classes), kTemperature, 5 * 2 * kTemperature / std::sqrt(kSamples));
}

TEST(FitTemperatureTest, StaysWithinItsLimits) {
  EXPECT_NEAR(FitTemperature(std::vector<float>{1, 0}, std::array<std::uint8_t, 1>{0}), 0.01, 1e-4);
  EXPECT_NEAR(FitTemperature(std::vector<float>{1, 0}, std::array<std::uint8_t, 1>{1}), 100, 0.01);
}

}  // namespace
}  // namespace tributary::nn
