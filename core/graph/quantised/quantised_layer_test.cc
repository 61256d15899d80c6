// The arithmetic of a result.
#include "core/graph/quantised/quantised_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tributary::graph {
namespace {

TEST(QuantisedLayerTest, FactorsAreTheNearestOfTheirBits) {
  for (const double factor : {1.0, 0.5, 3.0, 0.1, 1e-3, 7.3e-7, 1234.5, 0x1.ffffffp0}) {
    const auto found = FactorOf(factor);
    ASSERT_TRUE(found.ok());
    EXPECT_LE(std::abs(std::ldexp(found->mantissa, -found->shift) / factor - 1), 0x1p-24);
    EXPECT_LT(found->mantissa, 1 << 24);
  }
  for (const double factor : {0.0, -1.0, 0x1p24, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(FactorOf(factor).ok());
  }
}

TEST(QuantisedLayerTest, RoundsTiesToEven) {
  for (std::int64_t value = -40; value <= 40; ++value) {
    for (const std::int32_t shift : {0, 1, 2, 3}) {
      EXPECT_EQ(RoundedShift(value, shift), std::nearbyint(std::ldexp(static_cast<double>(value), -shift)));
    }
  }
}

}  // namespace
}  // namespace tributary::graph
