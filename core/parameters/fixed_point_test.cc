#include "core/parameters/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tributary::parameters {
namespace {

TEST(FixedPointTest, NeverOverflowsAndWastesLessThanOneBit) {
  for (const double bound : {0.01, 1.0, 8.0, 1e6}) {
    for (const double weight : {1.0, 7011.0, 1e9, 1e12}) {
      for (const int word_bits : {32, 64}) {
        const auto fixed_point = FixedPoint::For(bound, weight, 1 << 16, word_bits);
        ASSERT_TRUE(fixed_point.ok());
        const double largest = bound * weight * fixed_point->scale() * (1 + 0x1p-22) + (1 << 16);
        EXPECT_LE(largest, std::ldexp(1.0, word_bits - 1) - 1);
        EXPECT_GT(2.1 * largest, std::ldexp(1.0, word_bits - 1));
        EXPECT_GE(fixed_point->LargestWord(weight, 1 << 16), 0.999999 * largest);
      }
    }
  }
}

TEST(FixedPointTest, RefusesWhatHasNoScale) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(FixedPoint::For(0, 1, 1).ok());
  EXPECT_FALSE(FixedPoint::For(1, 0, 1).ok());
  EXPECT_FALSE(FixedPoint::For(1, infinity, 1).ok());
  EXPECT_FALSE(FixedPoint::For(std::nan(""), 1, 1).ok());
  EXPECT_FALSE(FixedPoint::For(1, 1, 0).ok());
  EXPECT_FALSE(FixedPoint::For(1, 1, 1 << 17).ok());
}

// 67 elements: vectors of every width and a rest.
TEST(FixedPointTest, RoundsToTheNearestWord) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(67);
  for (float& value : values) value = uniform(random);
  values[0] = 0.5f / 64;  // a tie goes to the even word
  values[66] = 1.5f / 64;
  std::vector<std::int32_t> words(values.size());
  ToFixedPoint(values, 64, words);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(words[i], std::nearbyint(values[i] * 64)) << i;
  EXPECT_EQ(words[0], 0);
  EXPECT_EQ(words[66], 2);
}

TEST(FixedPointTest, TellsRangeFromNonsenseAtEveryPlace) {
  for (std::size_t place = 0; place < 37; ++place) {
    std::vector<float> values(37, 0.5f);
    EXPECT_EQ(CheckRange(values, 0.5f), RangeCheck::kGood);
    values[place] = -0.50001f;
    EXPECT_EQ(CheckRange(values, 0.5f), RangeCheck::kOutOfRange);
    values[place] = std::nanf("");
    EXPECT_EQ(CheckRange(values, 0.5f), RangeCheck::kNotFinite);
    values[place] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(CheckRange(values, 0.5f), RangeCheck::kNotFinite);
  }
}

}  // namespace
}  // namespace tributary::parameters
