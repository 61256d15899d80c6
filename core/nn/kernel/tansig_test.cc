#include "core/nn/kernel/tansig.h"

#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

TEST(TansigTest, SlopeIsTheDerivative) {
  for (const double x : {-2.0, -0.3, 0.0, 1.1}) {
    const double step = 1e-6;
    EXPECT_NEAR(TansigSlope(Tansig(x)), (Tansig(x + step) - Tansig(x - step)) / (2 * step), 1e-9);
  }
}

TEST(TansigTest, TableIsWithinHalfAWordOfTheFunction) {
  const auto table = TansigTable();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double x = (static_cast<double>(i) - 8192.0) / 2048.0;
    const double exact = 1024.0 * Tansig(x);
    EXPECT_LE(std::abs(table[i] - exact), std::abs(exact) > 1023.0 ? 1.0 : 0.5) << x;
  }
}

TEST(TansigTest, TableIsOddAndRising) {
  const auto table = TansigTable();
  EXPECT_EQ(table[8192], 0);
  for (std::size_t i = 1; i < table.size(); ++i) {
    EXPECT_LE(table[i - 1], table[i]);
    EXPECT_EQ(table[i], -table[kTansigWords - i]);
  }
}

}  // namespace
}  // namespace tributary::nn
