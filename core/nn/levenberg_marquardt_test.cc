#include "core/nn/levenberg_marquardt.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace tributary {
namespace {

// Fits a·exp(b·t) to samples of 2·exp(-0.7·t), one error per pattern.
class Exponential final : public LeastSquaresProblem {
 public:
  static constexpr std::size_t kSamples = 21;

  std::size_t parameters() const override { return 2; }
  std::size_t errors() const override { return kSamples; }

  void Linearise(std::span<const double> w, NormalEquations& equations) const override {
    std::vector<double> rows(NormalEquations::kRows * equations.stride());
    double errors[NormalEquations::kRows];
    for (std::size_t first = 0; first < kSamples; first += NormalEquations::kRows) {
      std::fill(rows.begin(), rows.end(), 0.0);
      std::fill(std::begin(errors), std::end(errors), 0.0);
      for (std::size_t r = 0; r < NormalEquations::kRows && first + r < kSamples; ++r) {
        const double t = Time(first + r);
        rows[r * equations.stride()] = std::exp(w[1] * t);
        rows[r * equations.stride() + 1] = w[0] * t * std::exp(w[1] * t);
        errors[r] = Error(w, first + r);
      }
      auto aligned = hwy::AllocateAligned<double>(rows.size());
      std::copy(rows.begin(), rows.end(), aligned.get());
      equations.Add(aligned.get(), errors);
    }
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

TEST(NormalEquationsTest, EqualTheProductsOfTheWholeMatrix) {
  constexpr Eigen::Index kParameters = 13;
  NormalEquations equations(kParameters);
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Random(16, kParameters);
  Eigen::VectorXd errors = Eigen::VectorXd::Random(16);
  auto rows = hwy::AllocateAligned<double>(8 * equations.stride());
  for (Eigen::Index block = 0; block < 2; ++block) {
    std::fill_n(rows.get(), 8 * equations.stride(), 0.0);
    for (Eigen::Index r = 0; r < 8; ++r) {
      for (Eigen::Index k = 0; k < kParameters; ++k) {
        rows[static_cast<std::size_t>(r) * equations.stride() + static_cast<std::size_t>(k)] =
            jacobian(8 * block + r, k);
      }
    }
    equations.Add(rows.get(), errors.data() + 8 * block);
  }
  // 16 products of magnitude at most 1 and their roundings of 1.1e-16.
  EXPECT_LT((equations.Matrix() - jacobian.transpose() * jacobian).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT((equations.Gradient() - jacobian.transpose() * errors).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_NEAR(equations.squared_error(), errors.squaredNorm(), 1e-14);
}

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
  options.progress = [&](int, double error) {
    EXPECT_LT(error, last);
    last = error;
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
}  // namespace tributary
