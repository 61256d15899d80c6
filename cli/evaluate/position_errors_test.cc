#include "cli/evaluate/position_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tributary::cli {
namespace {

TEST(PositionErrorsTest, OrdersTheErrorsOfANetworkThatDivergedForSomeUsers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  PositionErrors errors;
  for (int i = 100; i > 0; --i) {
    const estimate::Vector<2> estimate(i % 20 == 0 ? kNan : i, 0);
    errors.Add(estimate, {0, 0});
  }
  const ErrorFigures figures = errors.Figures();
  EXPECT_TRUE(std::isnan(figures.mean_m));
  EXPECT_TRUE(std::isnan(figures.max_m));
  EXPECT_EQ(figures.p90_m, 94);  // the 90th of 1 to 99 without 20, 40, 60 and 80
}

}  // namespace
}  // namespace tributary::cli
