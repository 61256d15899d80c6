#include "fpga/model/tensor_bfloat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "fpga/model/tensor_float.h"
#include "fpga/tb/tensor/random_bfloats.h"

namespace tributary::fpga {
namespace {

using Bfloats = std::vector<std::uint16_t>;

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }
float Float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// What the arithmetic takes a number for: subnormal ones are zeros.
long double Taken(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? 0.0L : static_cast<long double>(value);
}

float Sum(float start, const std::vector<float>& activations, const std::vector<float>& weights) {
  return Float(AddBfloatGroup(Bits(start), Bfloat16sOf(activations), Bfloat16sOf(weights)));
}

class BfloatGroupTest : public testing::Test {
 protected:
  // Adds a group and holds it to the bound. Exact: 64 bits of mantissa, for at most 16 products of 16 bits.
  void ExpectWithinBound(std::uint32_t start, const Bfloats& activations, const Bfloats& weights) {
    long double exact = Taken(Float(start)), largest = 0;
    for (std::size_t i = 0; i < activations.size(); ++i) {
      const long double product = Taken(FloatOf(activations[i])) * Taken(FloatOf(weights[i]));
      exact += product;
      largest = std::max(largest, std::abs(product));
    }
    const float found = Float(AddBfloatGroup(start, activations, weights));
    if (!std::isfinite(found)) {
      EXPECT_GT(std::abs(exact), 0x1.fffffcp127L) << exact;
      ++infinite_;
      return;
    }
    const long double bound = BfloatGroupError(activations.size()) * largest +
                              kTensorAccumulatorError * std::abs(Taken(Float(start))) +
                              kTensorResultError * std::abs(static_cast<long double>(found)) +
                              kTensorLeastResult;
    const long double error = std::abs(static_cast<long double>(found) - exact);
    EXPECT_LE(error, bound) << found << " instead of " << exact;
    worst_ = std::max(worst_, error / bound);
    ++tried_;
  }

  Bfloats Numbers(std::size_t count, const RandomBfloats& numbers) {
    Bfloats found(count);
    for (std::uint16_t& number : found) {
      do number = numbers.Next(random_);
      while ((number & 0x7fff) >= kBfloat16Infinity);
    }
    return found;
  }

  std::mt19937_64 random_{21};
  int tried_ = 0, infinite_ = 0;
  long double worst_ = 0;
};

TEST_F(BfloatGroupTest, StaysWithinItsBound) {
  using Kind = RandomBfloats::Kind;
  for (const Kind kind : {Kind::kOrdinary, Kind::kClose, Kind::kIntegers, Kind::kWide, Kind::kLarge,
                          Kind::kSmall, Kind::kAnything}) {
    for (int i = 0; i < 20'000; ++i) {
      const RandomBfloats numbers(kind);
      const std::size_t group = std::array{4, 8, 16}[static_cast<std::size_t>(i % 3)];
      const Bfloats activations = Numbers(group, numbers), weights = Numbers(group, numbers);
      const auto start = static_cast<std::uint32_t>(Numbers(1, numbers)[0]) << 16 |
                         static_cast<std::uint32_t>(random_() % 0x10000);
      ExpectWithinBound(i % 4 == 0 ? 0 : start, activations, weights);
    }
  }
  EXPECT_GT(tried_, 100'000);
  EXPECT_GT(infinite_, 0);
  EXPECT_LE(worst_, 1.0L);
  EXPECT_GT(worst_, 0.5L);  // a bound that nothing comes near says little
}

TEST_F(BfloatGroupTest, StaysWithinItsBoundWhereProductsCancel) {
  for (int i = 0; i < 50'000; ++i) {
    const std::size_t group = std::array{4, 8, 16}[static_cast<std::size_t>(i % 3)];
    Bfloats activations = Numbers(group, RandomBfloats(RandomBfloats::Kind::kWide));
    Bfloats weights = Numbers(group, RandomBfloats(RandomBfloats::Kind::kWide));
    // Pairs that cancel whole, and a rest far below them.
    for (std::size_t j = 0; j + 1 < group / 2; j += 2) {
      activations[j + 1] = activations[j];
      weights[j + 1] = weights[j] ^ 0x8000;
    }
    // The accumulator nearly cancels the first of the others.
    const float product = FloatOf(activations[group - 1]) * FloatOf(weights[group - 1]);
    const std::uint32_t start = Bits(-product) ^ static_cast<std::uint32_t>(random_() % 4);
    ExpectWithinBound(i % 2 == 0 ? start : 0, activations, weights);
  }
  EXPECT_EQ(infinite_, 0);
}

TEST_F(BfloatGroupTest, AddsIntegersExactly) {
  std::uniform_int_distribution<int> integer(-256, 256);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<float> activations(8), weights(8);
    double exact = 0;
    float sum = 0;
    for (int group = 0; group < 10; ++group) {
      for (std::size_t j = 0; j < 8; ++j) {
        activations[j] = static_cast<float>(integer(random_)),
        weights[j] = static_cast<float>(integer(random_));
        exact += static_cast<double>(activations[j]) * static_cast<double>(weights[j]);
      }
      sum = Sum(sum, activations, weights);
    }
    ASSERT_EQ(sum, exact);
  }
}

TEST_F(BfloatGroupTest, OneProductIsRoundedOnceAsFloatsAre) {
  for (int i = 0; i < 50'000; ++i) {
    const Bfloats numbers = Numbers(2, RandomBfloats(RandomBfloats::Kind::kWide));
    const float product = FloatOf(numbers[0]) * FloatOf(numbers[1]);
    EXPECT_EQ(AddBfloatGroup(0, std::span(numbers).first(1), std::span(numbers).last(1)),
              Bits(product + 0.0f));
  }
}

TEST_F(BfloatGroupTest, RoundsHalvesToEven) {
  const float ulp = 0x1p-23f;
  EXPECT_EQ(Sum(1.0f, {0x1p-12f}, {0x1p-12f}), 1.0f);  // half an ulp
  EXPECT_EQ(Sum(1.0f + ulp, {0x1p-12f}, {0x1p-12f}), 1.0f + 2 * ulp);
  EXPECT_EQ(Sum(1.0f, {0x1p-12f, 0x1p-14f}, {0x1p-12f, 0x1p-14f}), 1.0f + ulp);  // more than half
  EXPECT_EQ(Sum(0x1.fffffep0f, {0x1p-12f}, {0x1p-12f}), 2.0f);                   // carries into the exponent
  EXPECT_EQ(Sum(-1.0f - ulp, {0x1p-12f}, {-0x1p-12f}), -1.0f - 2 * ulp);
}

TEST_F(BfloatGroupTest, TakesSubnormalNumbersForZeros) {
  EXPECT_EQ(Bits(Sum(0.0f, {0x1p-130f}, {0x1p20f})), 0u);
  EXPECT_EQ(Bits(Sum(0x1p-130f, {0.0f}, {1.0f})), 0u);
  EXPECT_EQ(Bits(Sum(0.0f, {0x1p-70f}, {0x1p-60f})), 0u);  // a result below 2^-126
  EXPECT_EQ(Bits(Sum(0.0f, {-0x1p-70f}, {0x1p-60f})), 0u);
  EXPECT_EQ(Sum(0.0f, {0x1p-70f}, {-0x1p-56f}), -0x1p-126f);
  EXPECT_EQ(Bits(Sum(-0.0f, {0.0f}, {0.0f})), 0u);
  EXPECT_EQ(Bits(Sum(0.0f, {-0.0f}, {1.0f})), 0u);
  EXPECT_EQ(Bits(Sum(3.0f, {-1.0f}, {3.0f})), 0u);
  // A zero has no part in the common exponent: the small product keeps all of its bits.
  EXPECT_EQ(Sum(0.0f, {0.0f, 0x1.02p-40f}, {0x1p100f, 0x1.02p-40f}), 0x1.02p-40f * 0x1.02p-40f);
}

TEST_F(BfloatGroupTest, DropsWhatLiesFarBelowTheLargestProduct) {
  EXPECT_EQ(Sum(0.0f, {1.0f, 0x1p-16f}, {1.0f, 1.0f}), 1.0f + 0x1p-16f);
  EXPECT_EQ(Sum(0.0f, {1.0f, 0x1p-23f}, {1.0f, 1.0f}), 1.0f + 0x1p-23f);
  EXPECT_EQ(Sum(0.0f, {1.0f, 0x1p-24f}, {1.0f, 1.0f}), 1.0f);
  EXPECT_EQ(Sum(0x1p-40f, {1.0f, -1.0f}, {1.0f, 1.0f}), 0.0f);  // the accumulator lies below the products
  EXPECT_EQ(Sum(0x1p100f, {1.0f}, {1.0f}), 0x1p100f);
  EXPECT_EQ(Sum(0x1p-100f, {1.0f}, {1.0f}), 1.0f);
}

TEST_F(BfloatGroupTest, PropagatesWhatIsNotFinite) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const float special : {kInfinite, -kInfinite, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(Bits(Sum(1.0f, {1.0f, special}, {1.0f, 1.0f})), kFloat32Nan);
    EXPECT_EQ(Bits(Sum(1.0f, {1.0f, 1.0f}, {special, 1.0f})), kFloat32Nan);
    EXPECT_EQ(Bits(Sum(1.0f, {special}, {0.0f})), kFloat32Nan);
  }
  EXPECT_EQ(Sum(kInfinite, {1.0f}, {-1.0f}), kInfinite);
  EXPECT_EQ(Sum(-kInfinite, {1.0f}, {1.0f}), -kInfinite);
  EXPECT_EQ(AddBfloatGroup(0x7f80'0001, Bfloats{0}, Bfloats{0}), kFloat32Nan);
  EXPECT_EQ(AddBfloatGroup(0xffff'ffff, Bfloats{0}, Bfloats{0}), kFloat32Nan);
  EXPECT_EQ(Sum(0.0f, {0x1p64f}, {0x1p64f}), kInfinite);
  EXPECT_EQ(Sum(0.0f, {0x1p64f}, {-0x1p64f}), -kInfinite);
  EXPECT_EQ(Sum(0.0f, {0x1p64f}, {0x1.fep63f}), 0x1.fep127f);
  EXPECT_EQ(Sum(std::numeric_limits<float>::max(), {0x1p52f}, {0x1p51f}), kInfinite);  // rounds up to 2^128
}

TEST(BfloatNumbersTest, AreTheNearestOnes) {
  EXPECT_EQ(Bfloat16Of(1.0f), 0x3f80);
  EXPECT_EQ(Bfloat16Of(-0.0f), 0x8000);
  EXPECT_EQ(Bfloat16Of(0x1.01p0f), 0x3f80);  // ties to even
  EXPECT_EQ(Bfloat16Of(0x1.03p0f), 0x3f82);
  EXPECT_EQ(Bfloat16Of(0x1.010002p0f), 0x3f81);
  EXPECT_EQ(Bfloat16Of(std::numeric_limits<float>::max()), kBfloat16Infinity);
  EXPECT_EQ(Bfloat16Of(-std::numeric_limits<float>::infinity()), kBfloat16MinusInfinity);
  EXPECT_EQ(RoundToBfloat16(0x7f80'0001), 0x7fc0);
  EXPECT_EQ(RoundToBfloat16(0xffff'ffff), 0xffc0);
  for (std::uint32_t bits = 0; bits < 0x1'0000; ++bits) {
    const auto value = static_cast<std::uint16_t>(bits);
    if (!std::isnan(FloatOf(value))) {
      EXPECT_EQ(Bfloat16Of(FloatOf(value)), value);
    }
  }
}

TEST(BfloatNumbersTest, AreLimited) {
  const auto limited = [](float sum, float low, float high) {
    return FloatOf(BfloatOutputOf(Bits(sum), Bfloat16Of(low), Bfloat16Of(high)));
  };
  EXPECT_EQ(limited(-3.0f, 0.0f, std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(limited(3.0f, 0.0f, std::numeric_limits<float>::infinity()), 3.0f);
  EXPECT_EQ(limited(7.0f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(limited(6.03f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(limited(-7.0f, -6.0f, 2.0f), -6.0f);
  EXPECT_EQ(limited(-5.0f, -6.0f, 2.0f), -5.0f);
  EXPECT_EQ(limited(2.5f, -6.0f, 2.0f), 2.0f);
  EXPECT_EQ(BfloatOutputOf(kFloat32Nan, 0, 0x3f80), 0x7fc0);
  EXPECT_EQ(
      BfloatOutputOf(Bits(std::numeric_limits<float>::max()), kBfloat16MinusInfinity, kBfloat16Infinity),
      kBfloat16Infinity);
}

}  // namespace
}  // namespace tributary::fpga
