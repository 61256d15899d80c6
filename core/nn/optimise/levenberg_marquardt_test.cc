#include "core/nn/optimise/levenberg_marquardt.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

// Fits a·exp(b·t) to samples of 2·exp(-0.7·t), one error per pattern.
class Exponential final : public LeastSquaresProblem {
 public:
  static constexpr std::size_t kSamples = 21;

  std::size_t parameters() const override { return 2; }
  std::size_t errors() const override { return kSamples; }

  void Linearise(std::span<const double> w, NormalEquations& equations) const override {
    equations.matrix.setZero();
    equations.gradient.setZero();
    for (std::size_t i = 0; i < kSamples; ++i) {
      const double slope = std::exp(w[1] * Time(i));
      const Eigen::Vector2d row(slope, w[0] * Time(i) * slope);
      equations.matrix += row * row.transpose();
      equations.gradient += row * Error(w, i);
    }
    equations.squared_error = SquaredError(w);
  }

  double SquaredError(std::span<const double> w) const override {
    double sum = 0.0;
    for (std::size_t i = 0; i < kSamples; ++i) sum += Error(w, i) * Error(w, i);
    return sum;
  }

 private:
  static double Time(std::size_t i) { return 0.2 * static_cast<double>(i); }
  static double Error(std::span<const double> w, std::size_t i) {
    return w[0] * std::exp(w[1] * Time(i)) - 2.0 * std::exp(-0.7 * Time(i));
  }
};

TEST(LevenbergMarquardtTest, FindsTheParametersBehindTheSamples) {
  const auto result = MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{1.0, 0.0}, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->parameters[0], 2.0, 1e-6);
  EXPECT_NEAR(result->parameters[1], -0.7, 1e-6);
  EXPECT_EQ(result->stop, LevenbergMarquardtStop::kGradient);
}

TEST(LevenbergMarquardtTest, EachEpochLowersTheError) {
  double last = std::numeric_limits<double>::infinity();
  LevenbergMarquardtOptions options;
  options.validation = [&](std::span<const double> w) {
    const double error = Exponential().SquaredError(w);
    EXPECT_LT(error, last);
    return last = error;
  };
  ASSERT_TRUE(MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{-3.0, 0.5}, options).ok());
}

TEST(LevenbergMarquardtTest, StopsAndReturnsTheBestOnceValidationKeepsRising) {
  LevenbergMarquardtOptions options;
  options.min_gradient = 0.0;
  options.max_failures = 2;
  options.validation = [](std::span<const double> w) { return std::abs(w[0] - 1.0); };  // best at the start
  const auto result = MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{1.0, 0.0}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stop, LevenbergMarquardtStop::kValidation);
  EXPECT_EQ(result->epochs, 2);
  EXPECT_EQ(result->parameters[0], 1.0);
}

TEST(LevenbergMarquardtTest, GivesUpWhereNoStepHelps) {
  LevenbergMarquardtOptions options;
  options.min_gradient = 0.0;
  const auto result = MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{2.0, -0.7}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_NE(result->stop, LevenbergMarquardtStop::kEpochs);
}

TEST(LevenbergMarquardtTest, RefusesWhatCannotBeMinimised) {
  EXPECT_EQ(MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{1.0}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MinimiseLevenbergMarquardt(Exponential(), std::vector<double>{1.0, 1e300}, {}).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tributary::nn
