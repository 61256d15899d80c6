#include "fpga/model/tensor_bfloat.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>

#include "fpga/model/tensor_float.h"
#include "fpga/tb/tensor/random_floats.h"

namespace tributary::fpga {
namespace {

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(BfloatProductTest, IsRoundedOnceAsThatOfFloats) {
  std::mt19937_64 random(21);
  const RandomFloats numbers(RandomFloats::Kind::kWide);
  for (int i = 0; i < 50'000; ++i) {
    const std::array pair = {numbers.NextBfloat16(random), numbers.NextBfloat16(random)};
    const float product = FloatOf(pair[0]) * FloatOf(pair[1]);
    EXPECT_EQ(AddBfloatGroup(0, std::span(pair).first(1), std::span(pair).last(1)), Bits(product + 0.0f));
  }
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
