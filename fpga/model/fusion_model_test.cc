#include "fpga/model/fusion_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "fpga/model/fusion_rom.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

// 113 bits of precision, which is long double's on arm64.
#if defined(__SIZEOF_FLOAT128__)
__extension__ using Wide = __float128;
#else
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits == 113);
#endif

struct Reference {
  double x, y, l11, l21, l22;
  double deviation_y;  // marginal; that of x is l11
};

// Sum of information matrices and vectors, and its inverse, at a precision that condition numbers of 1e8 do
// not reach.
Reference Conflate(const std::vector<FusionTuple>& panels) {
  Wide xx = 0, xy = 0, yy = 0, x_vector = 0, y_vector = 0;
  for (const FusionTuple& tuple : panels) {
    const Wide a = 1 / static_cast<Wide>(tuple.l11);
    const Wide c = 1 / static_cast<Wide>(tuple.l22);
    const Wide b = -static_cast<Wide>(tuple.l21) * a * c;
    const Wide zx = a * tuple.x;
    const Wide zy = b * tuple.x + c * tuple.y;
    xx += a * a + b * b;
    xy += b * c;
    yy += c * c;
    x_vector += a * zx + b * zy;
    y_vector += c * zy;
  }
  const Wide determinant = xx * yy - xy * xy;
  const double sxx = static_cast<double>(yy / determinant);
  const double sxy = static_cast<double>(-xy / determinant);
  const double syy = static_cast<double>(xx / determinant);
  const double l11 = std::sqrt(sxx);
  return {static_cast<double>((yy * x_vector - xy * y_vector) / determinant),
          static_cast<double>((xx * y_vector - xy * x_vector) / determinant),
          l11,
          sxy / l11,
          std::sqrt(static_cast<double>(1 / yy)),
          std::sqrt(syy)};
}

class FusionModelTest : public testing::Test {
 protected:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  // Standard deviations of x and y from √1e-5 to √1e3 m ([LIS], figure 5.1), any correlation: `near` of 1
  // stays away from ±1, 1e-8 comes as close as l22 ≥ √1e-5 permits.
  FusionTuple Shape(double near) {
    const double sx = std::pow(10, Uniform(-2.5, 1.5));
    const double sy = std::pow(10, Uniform(-2.5, 1.5));
    const double distance = std::pow(10, Uniform(std::log10(near), 0));
    const double correlation = (Uniform(-1, 1) < 0 ? -1 : 1) * (1 - distance);
    const double l22 = std::max(sy * std::sqrt(1 - correlation * correlation), std::sqrt(1e-5));
    return {0, 0, static_cast<float>(sx), static_cast<float>(correlation * sy), static_cast<float>(l22)};
  }

  // Panels that saw the same subject somewhere in a 20 m room.
  std::vector<FusionTuple> Panels(std::size_t count, double near, bool alike) {
    const double x = Uniform(-10, 10);
    const double y = Uniform(-10, 10);
    const FusionTuple shape = Shape(near);
    std::vector<FusionTuple> panels(count);
    for (FusionTuple& tuple : panels) {
      tuple = alike ? shape : Shape(near);
      const double first = normal_(random_);
      tuple.x = static_cast<float>(x + tuple.l11 * first);
      tuple.y = static_cast<float>(y + tuple.l21 * first + tuple.l22 * normal_(random_));
    }
    return panels;
  }

  std::mt19937_64 random_{50};
  std::normal_distribution<double> normal_;
};

// The target is 1e-3 relative. A mean's error counts against its own size or its deviation, l21's against the
// row of the factor, whose length is the deviation of y.
TEST_F(FusionModelTest, StaysWithinAThousandthOfTheReference) {
  constexpr double kTolerance = 1e-3;
  for (int i = 0; i < 10'000; ++i) {
    const std::vector<FusionTuple> panels = Panels(1 + i % 4, i % 2 == 0 ? 1e-2 : 1e-8, i % 5 == 0);
    const FusionTuple fused = Fuse(panels, false);
    const Reference expected = Conflate(panels);
    ASSERT_NEAR(fused.x, expected.x, kTolerance * std::max(std::abs(expected.x), expected.l11)) << i;
    ASSERT_NEAR(fused.y, expected.y, kTolerance * std::max(std::abs(expected.y), expected.deviation_y)) << i;
    ASSERT_NEAR(fused.l11, expected.l11, 1e-5 * expected.l11) << i;
    ASSERT_NEAR(fused.l21, expected.l21, 1e-5 * expected.deviation_y) << i;
    ASSERT_NEAR(fused.l22, expected.l22, 1e-5 * expected.l22) << i;
  }
}

// Panels that contradict each other by metres at millimetres' deviation: relative to the largest input
// coordinate, as for any sum of rounded numbers.
TEST_F(FusionModelTest, PanelsThatContradictEachOtherStayWithinAThousandthOfTheirMeans) {
  for (int i = 0; i < 10'000; ++i) {
    std::vector<FusionTuple> panels = Panels(2 + i % 3, 1e-2, false);
    double largest = 0;
    for (FusionTuple& tuple : panels) {
      tuple.x = static_cast<float>(Uniform(-10, 10));
      tuple.y = static_cast<float>(Uniform(-10, 10));
      largest =
          std::max({largest, std::abs(static_cast<double>(tuple.x)), std::abs(static_cast<double>(tuple.y))});
    }
    const FusionTuple fused = Fuse(panels, false);
    const Reference expected = Conflate(panels);
    ASSERT_NEAR(fused.x, expected.x, 1e-3 * std::max(largest, std::abs(expected.x))) << i;
    ASSERT_NEAR(fused.y, expected.y, 1e-3 * std::max(largest, std::abs(expected.y))) << i;
  }
}

TEST_F(FusionModelTest, RawDiagonalsPassThroughTheSoftplus) {
  for (double raw = -40; raw <= 40; raw += 0.01) {
    const FusionTuple tuple = {1, 2, static_cast<float>(raw), 0.5f, static_cast<float>(-raw)};
    const FusionTuple fused = Fuse({&tuple, 1}, true);
    const double l11 = std::log1p(std::exp(static_cast<double>(tuple.l11))) + 1e-5;
    const double l22 = std::log1p(std::exp(static_cast<double>(tuple.l22))) + 1e-5;
    ASSERT_NEAR(fused.l11, l11, 1e-3 * l11) << raw;
    ASSERT_NEAR(fused.l22, l22, 1e-3 * l22) << raw;
    // From √1e-5 on the table's resolution of 2^-29 is no more than a millionth; the rest are the
    // truncations.
    if (std::min(l11, l22) >= std::sqrt(1e-5)) {
      ASSERT_NEAR(fused.l11, l11, 1e-5 * l11) << raw;
    }
  }
}

TEST_F(FusionModelTest, AFusionIsAnInputAgain) {
  for (int i = 0; i < 1'000; ++i) {
    const std::vector<FusionTuple> panels = Panels(4, 1e-2, false);
    const FusionTuple at_once = Fuse(panels, false);
    const std::vector<FusionTuple> halves = {Fuse(std::span(panels).first(2), false),
                                             Fuse(std::span(panels).last(2), false)};
    const FusionTuple in_two_steps = Fuse(halves, false);
    EXPECT_NEAR(in_two_steps.l11, at_once.l11, 2e-5 * at_once.l11);
    EXPECT_NEAR(in_two_steps.l22, at_once.l22, 2e-5 * at_once.l22);
  }
}

TEST_F(FusionModelTest, ABadTupleMakesTheWholeResultNotANumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const FusionTuple good = {1, 2, 0.1f, 0.01f, 0.1f};
  for (const FusionTuple& bad :
       {FusionTuple{kNan, 2, 0.1f, 0, 0.1f}, FusionTuple{1, kInfinity, 0.1f, 0, 0.1f},
        FusionTuple{1, 2, 0, 0, 0.1f}, FusionTuple{1, 2, 0.1f, 0, -0.1f}, FusionTuple{1, 2, 1e-40f, 0, 0.1f},
        FusionTuple{1, 2, 0.1f, -kInfinity, 0.1f}}) {
    const std::vector<FusionTuple> panels = {good, bad};
    const FusionTuple fused = Fuse(panels, false);
    EXPECT_TRUE(std::isnan(fused.x) && std::isnan(fused.y) && std::isnan(fused.l11) &&
                std::isnan(fused.l21) && std::isnan(fused.l22));
  }
}

TEST(FusionFloatTest, CutsOffTowardsZero) {
  const FusionFloat one = ToFusionFloat(1.0f);
  const FusionFloat last = ToFusionFloat(std::ldexp(1.0f, -23));
  EXPECT_EQ(ToFloat(Add(one, last)), 1.0f + std::ldexp(1.0f, -23));
  EXPECT_EQ(ToFloat(Add(one, Multiply(last, ToFusionFloat(0.75f)))), 1.0f);
  EXPECT_EQ(Add(one, Negate(one)), FusionFloat{});
  EXPECT_EQ(ToFloat(Multiply(ToFusionFloat(-1.5f), ToFusionFloat(2.0f))), -3.0f);
}

TEST(FusionFloatTest, WhatSinglePrecisionCannotHoldSaturates) {
  const FusionFloat large = ToFusionFloat(3e38f);
  EXPECT_EQ(ToFloat(Multiply(large, large)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(ToFloat(Apply(FusionFunction::kReciprocal, Multiply(large, large))), 0.0f);
}

TEST(FusionFunctionTest, ReciprocalAndReciprocalRootAreExactToTwoUnitsInTheLastPlace) {
  for (int i = 1; i < 1 << 20; i += 3) {
    const float x = std::ldexp(static_cast<float>(i), -10);
    EXPECT_NEAR(ToFloat(Apply(FusionFunction::kReciprocal, ToFusionFloat(x))) * static_cast<double>(x), 1,
                std::ldexp(1, -22));
    EXPECT_NEAR(
        ToFloat(Apply(FusionFunction::kReciprocalRoot, ToFusionFloat(x))) * std::sqrt(static_cast<double>(x)),
        1, std::ldexp(1, -22));
  }
}

TEST(FusionProgramTest, StartsEvery145CyclesAndFitsTheBlocksMemories) {
  const std::vector<std::uint64_t> program = MakeFusionProgram();
  const auto issued = [&](int valid_bit) {
    return std::ranges::count_if(program, [&](std::uint64_t word) { return (word >> valid_bit & 1) != 0; });
  };
  EXPECT_LE(program.size() + 2, 145u);  // two cycles lie between programs
  EXPECT_LE(issued(16), 64);
  EXPECT_LE(issued(34), 64);
  EXPECT_LE(issued(45), 32);
}

}  // namespace
}  // namespace tributary::fpga
