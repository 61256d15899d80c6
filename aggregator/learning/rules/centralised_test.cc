// Federated averaging with one local step of every node is gradient descent on the union of their data
// ([McMahan17], FedSGD): here a small dense network on data that are split unevenly.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "aggregator/learning/round/accumulator.h"
#include "aggregator/learning/rules/strategy.h"

namespace tributary::learning {
namespace {

constexpr std::size_t kInputs = 6;
constexpr std::size_t kHidden = 5;
constexpr std::size_t kParameters = kHidden * (kInputs + 1) + kHidden + 1;
constexpr double kRate = 0.2;

struct Sample {
  std::array<double, kInputs> input;
  double target;
};

// Gradient of the mean squared error of w2 · tanh(W1 x + b1) + b2, layout W1 b1 w2 b2.
std::vector<double> Gradient(std::span<const float> w, std::span<const Sample> samples) {
  std::vector<double> gradient(kParameters);
  const std::size_t b1 = kHidden * kInputs, w2 = b1 + kHidden, b2 = w2 + kHidden;
  for (const Sample& sample : samples) {
    std::array<double, kHidden> hidden;
    double error = w[b2] - sample.target;
    for (std::size_t h = 0; h < kHidden; ++h) {
      double sum = w[b1 + h];
      for (std::size_t i = 0; i < kInputs; ++i) sum += w[h * kInputs + i] * sample.input[i];
      hidden[h] = std::tanh(sum);
      error += w[w2 + h] * hidden[h];
    }
    const double scale = 2 * error / static_cast<double>(samples.size());
    gradient[b2] += scale;
    for (std::size_t h = 0; h < kHidden; ++h) {
      gradient[w2 + h] += scale * hidden[h];
      const double back = scale * w[w2 + h] * (1 - hidden[h] * hidden[h]);
      gradient[b1 + h] += back;
      for (std::size_t i = 0; i < kInputs; ++i) gradient[h * kInputs + i] += back * sample.input[i];
    }
  }
  return gradient;
}

TEST(CentralisedTest, FedAvgWithOneLocalStepIsDescentOnTheUnion) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::vector<Sample> all(300);
  for (Sample& sample : all) {
    for (double& value : sample.input) value = normal(random);
    sample.target = std::sin(sample.input[0]) + 0.3 * sample.input[1];
  }
  const std::array<std::size_t, 5> sizes = {10, 25, 40, 75, 150};
  std::vector<float> federated(kParameters);
  for (float& value : federated) value = static_cast<float>(0.3 * normal(random));
  std::vector<float> centralised = federated;

  const auto strategy = Strategy::Create({}, kParameters);
  Accumulator sum(kParameters);
  for (int round = 0; round < 50; ++round) {
    sum.Start(*parameters::FixedPoint::For(8, static_cast<double>(all.size()), sizes.size()));
    std::span<const Sample> rest = all;
    for (const std::size_t size : sizes) {
      const std::vector<double> gradient = Gradient(federated, rest.first(size));
      rest = rest.subspan(size);
      std::vector<float> delta;
      for (const double value : gradient) delta.push_back(static_cast<float>(-kRate * value));
      ASSERT_TRUE(sum.Add(0, delta, static_cast<double>(size)).ok());
    }
    ASSERT_TRUE(strategy->Step(*sum.TakeMean(static_cast<double>(all.size())), federated).ok());

    const std::vector<double> gradient = Gradient(centralised, all);
    for (std::size_t i = 0; i < kParameters; ++i) {
      centralised[i] = static_cast<float>(centralised[i] - kRate * gradient[i]);
    }
  }
  for (std::size_t i = 0; i < kParameters; ++i) EXPECT_NEAR(federated[i], centralised[i], 1e-5) << i;
}

}  // namespace
}  // namespace tributary::learning
