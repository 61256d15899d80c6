// Groups of products in bfloat16 and float32, and the accumulators that both share.
#include "fpga/model/tensor_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/tb/tensor/random_floats.h"

namespace tributary::fpga {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::uint32_t BitsOf(float value) { return std::bit_cast<std::uint32_t>(value); }
float Float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// What the arithmetic takes a number for: subnormal ones are zeros.
long double Taken(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? 0.0L : static_cast<long double>(value);
}

struct Bfloat16Format {
  using Bits = std::uint16_t;
  static constexpr std::array<std::size_t, 3> kGroups = {4, 8, 16};  // with 8, 16 and 32 lanes
  static constexpr int kInteger = 256;
  static constexpr auto AddGroup = AddBfloatGroup;
  static constexpr auto GroupError = BfloatGroupError;
  static Bits Next(const RandomFloats& numbers, std::mt19937_64& random) {
    return numbers.NextBfloat16(random);
  }
  static Bits Of(float value) { return Bfloat16Of(value); }
  static float ToFloat(Bits bits) { return FloatOf(bits); }
};

struct Float32Format {
  using Bits = std::uint32_t;
  static constexpr std::array<std::size_t, 3> kGroups = {2, 4, 8};
  static constexpr int kInteger = 400;
  static constexpr auto AddGroup = AddFloat32Group;
  static constexpr auto GroupError = Float32GroupError;
  static Bits Next(const RandomFloats& numbers, std::mt19937_64& random) {
    return numbers.NextFloat32(random);
  }
  static Bits Of(float value) { return BitsOf(value); }
  static float ToFloat(Bits bits) { return Float(bits); }
};

template <typename Format>
class FloatGroupTest : public testing::Test {
 protected:
  using Numbers = std::vector<typename Format::Bits>;

  static float Sum(float start, const std::vector<float>& activations, const std::vector<float>& weights) {
    return Float(Format::AddGroup(BitsOf(start), Rounded(activations), Rounded(weights)));
  }
  static Numbers Rounded(const std::vector<float>& values) {
    Numbers rounded(values.size());
    std::ranges::transform(values, rounded.begin(), Format::Of);
    return rounded;
  }

  // Adds a group and holds it to the bound. Products are exact in 64 bits of mantissa, and their sum to 2^-64
  // of the largest one, far below the bound.
  void ExpectWithinBound(std::uint32_t start, const Numbers& activations, const Numbers& weights) {
    long double exact = Taken(Float(start)), largest = 0;
    for (std::size_t i = 0; i < activations.size(); ++i) {
      const long double product = Taken(Format::ToFloat(activations[i])) * Taken(Format::ToFloat(weights[i]));
      exact += product;
      largest = std::max(largest, std::abs(product));
    }
    const float found = Float(Format::AddGroup(start, activations, weights));
    if (!std::isfinite(found)) {
      EXPECT_GT(std::abs(exact), 0x1.fffffcp127L) << exact;
      ++infinite_;
      return;
    }
    const long double bound = Format::GroupError(activations.size()) * largest +
                              kTensorAccumulatorError * std::abs(Taken(Float(start))) +
                              kTensorResultError * std::abs(static_cast<long double>(found)) +
                              kTensorLeastResult;
    const long double error = std::abs(static_cast<long double>(found) - exact);
    EXPECT_LE(error, bound) << found << " instead of " << exact;
    worst_ = std::max(worst_, error / bound);
    ++tried_;
  }

  Numbers Finite(std::size_t count, RandomFloats::Kind kind) {
    const RandomFloats numbers(kind);
    Numbers found(count);
    for (auto& number : found) {
      do number = Format::Next(numbers, random_);
      while (!std::isfinite(Format::ToFloat(number)));
    }
    return found;
  }

  std::mt19937_64 random_{21};
  int tried_ = 0, infinite_ = 0;
  long double worst_ = 0;
};

using Formats = testing::Types<Bfloat16Format, Float32Format>;
TYPED_TEST_SUITE(FloatGroupTest, Formats);

TYPED_TEST(FloatGroupTest, StaysWithinItsBound) {
  using Kind = RandomFloats::Kind;
  for (const Kind kind : {Kind::kOrdinary, Kind::kClose, Kind::kIntegers, Kind::kWide, Kind::kLarge,
                          Kind::kSmall, Kind::kAnything}) {
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t group = TypeParam::kGroups[static_cast<std::size_t>(i % 3)];
      const auto activations = this->Finite(group, kind), weights = this->Finite(group, kind);
      const std::uint32_t upper = BitsOf(TypeParam::ToFloat(this->Finite(1, kind)[0])) & 0xffff'0000;
      const std::uint32_t start = upper | static_cast<std::uint32_t>(this->random_() % 0x1'0000);
      this->ExpectWithinBound(i % 4 == 0 ? 0 : start, activations, weights);
    }
  }
  EXPECT_GT(this->tried_, 100'000);
  EXPECT_GT(this->infinite_, 0);
  EXPECT_LE(this->worst_, 1.0L);
  EXPECT_GT(this->worst_, 0.5L);  // a bound that nothing comes near says little
}

TYPED_TEST(FloatGroupTest, StaysWithinItsBoundWhereProductsCancel) {
  using Kind = RandomFloats::Kind;
  using Bits = typename TypeParam::Bits;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (int i = 0; i < 50'000; ++i) {
    const std::size_t group = TypeParam::kGroups[static_cast<std::size_t>(i % 3)];
    auto activations = this->Finite(group, Kind::kWide), weights = this->Finite(group, Kind::kWide);
    // Pairs that cancel whole, and a rest far below them.
    for (std::size_t j = 0; j + 1 < group / 2; j += 2) {
      activations[j + 1] = activations[j];
      weights[j + 1] = weights[j] ^ kSign;
    }
    // The accumulator nearly cancels the last of the others.
    const float product = TypeParam::ToFloat(activations[group - 1]) * TypeParam::ToFloat(weights[group - 1]);
    const std::uint32_t start = BitsOf(-product) ^ static_cast<std::uint32_t>(this->random_() % 4);
    this->ExpectWithinBound(i % 2 == 0 ? start : 0, activations, weights);
  }
  EXPECT_EQ(this->infinite_, 0);
}

TYPED_TEST(FloatGroupTest, AddsIntegersExactly) {
  std::uniform_int_distribution<int> integer(-TypeParam::kInteger, TypeParam::kInteger);
  constexpr std::size_t kGroup = TypeParam::kGroups[1];
  for (int i = 0; i < 20'000; ++i) {
    std::vector<float> activations(kGroup), weights(kGroup);
    double exact = 0;
    float sum = 0;
    for (int group = 0; group < 10; ++group) {
      for (std::size_t j = 0; j < kGroup; ++j) {
        activations[j] = static_cast<float>(integer(this->random_)),
        weights[j] = static_cast<float>(integer(this->random_));
        exact += static_cast<double>(activations[j]) * static_cast<double>(weights[j]);
      }
      sum = this->Sum(sum, activations, weights);
    }
    ASSERT_EQ(sum, exact);
  }
}

TYPED_TEST(FloatGroupTest, RoundsHalvesToEven) {
  const auto sum = TestFixture::Sum;
  const float ulp = 0x1p-23f;
  EXPECT_EQ(sum(1.0f, {0x1p-12f}, {0x1p-12f}), 1.0f);  // half an ulp
  EXPECT_EQ(sum(1.0f + ulp, {0x1p-12f}, {0x1p-12f}), 1.0f + 2 * ulp);
  EXPECT_EQ(sum(1.0f, {0x1p-12f, 0x1p-14f}, {0x1p-12f, 0x1p-14f}), 1.0f + ulp);  // more than half
  EXPECT_EQ(sum(0x1.fffffep0f, {0x1p-12f}, {0x1p-12f}), 2.0f);                   // carries into the exponent
  EXPECT_EQ(sum(-1.0f - ulp, {0x1p-12f}, {-0x1p-12f}), -1.0f - 2 * ulp);
}

TYPED_TEST(FloatGroupTest, TakesSubnormalNumbersForZeros) {
  const auto sum = TestFixture::Sum;
  EXPECT_EQ(BitsOf(sum(0.0f, {0x1p-130f}, {0x1p20f})), 0u);
  EXPECT_EQ(BitsOf(sum(0x1p-130f, {0.0f}, {1.0f})), 0u);
  EXPECT_EQ(BitsOf(sum(0.0f, {0x1p-70f}, {0x1p-60f})), 0u);  // a result below 2^-126
  EXPECT_EQ(BitsOf(sum(0.0f, {-0x1p-70f}, {0x1p-60f})), 0u);
  EXPECT_EQ(sum(0.0f, {0x1p-70f}, {-0x1p-56f}), -0x1p-126f);
  EXPECT_EQ(BitsOf(sum(-0.0f, {0.0f}, {0.0f})), 0u);
  EXPECT_EQ(BitsOf(sum(0.0f, {-0.0f}, {1.0f})), 0u);
  EXPECT_EQ(BitsOf(sum(3.0f, {-1.0f}, {3.0f})), 0u);
  // A zero has no part in the common exponent: the small product keeps all of its bits.
  EXPECT_EQ(sum(0.0f, {0.0f, 0x1.02p-40f}, {0x1p100f, 0x1.02p-40f}), 0x1.02p-40f * 0x1.02p-40f);
}

TYPED_TEST(FloatGroupTest, AddsWhatLiesFarApart) {
  const auto sum = TestFixture::Sum;
  EXPECT_EQ(sum(0.0f, {1.0f, 0x1p-16f}, {1.0f, 1.0f}), 1.0f + 0x1p-16f);
  EXPECT_EQ(sum(0.0f, {1.0f, 0x1p-23f}, {1.0f, 1.0f}), 1.0f + 0x1p-23f);
  EXPECT_EQ(sum(0.0f, {1.0f, 0x1p-24f}, {1.0f, 1.0f}), 1.0f);
  EXPECT_EQ(sum(0x1p-40f, {1.0f, -1.0f}, {1.0f, 1.0f}), 0.0f);  // the accumulator lies below the products
  EXPECT_EQ(sum(0x1p100f, {1.0f}, {1.0f}), 0x1p100f);
  EXPECT_EQ(sum(0x1p-100f, {1.0f}, {1.0f}), 1.0f);
}

TYPED_TEST(FloatGroupTest, PropagatesWhatIsNotFinite) {
  const auto sum = TestFixture::Sum;
  for (const float special : {kInfinite, -kInfinite, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(BitsOf(sum(1.0f, {1.0f, special}, {1.0f, 1.0f})), kFloat32Nan);
    EXPECT_EQ(BitsOf(sum(1.0f, {1.0f, 1.0f}, {special, 1.0f})), kFloat32Nan);
    EXPECT_EQ(BitsOf(sum(1.0f, {special}, {0.0f})), kFloat32Nan);
  }
  EXPECT_EQ(sum(kInfinite, {1.0f}, {-1.0f}), kInfinite);
  EXPECT_EQ(sum(-kInfinite, {1.0f}, {1.0f}), -kInfinite);
  const typename TestFixture::Numbers zero = {0};
  EXPECT_EQ(TypeParam::AddGroup(0x7f80'0001, zero, zero), kFloat32Nan);
  EXPECT_EQ(TypeParam::AddGroup(0xffff'ffff, zero, zero), kFloat32Nan);
  EXPECT_EQ(sum(0.0f, {0x1p64f}, {0x1p64f}), kInfinite);
  EXPECT_EQ(sum(0.0f, {0x1p64f}, {-0x1p64f}), -kInfinite);
  EXPECT_EQ(sum(0.0f, {0x1p64f}, {0x1.fep63f}), 0x1.fep127f);
  EXPECT_EQ(sum(std::numeric_limits<float>::max(), {0x1p52f}, {0x1p51f}), kInfinite);  // rounds up to 2^128
}

using Float32GroupTest = FloatGroupTest<Float32Format>;

TEST_F(Float32GroupTest, DropsWhatLiesFarBelowTheLargestProduct) {
  EXPECT_EQ(Sum(0.0f, {1.0f, -1.0f, 0x1p-25f}, {1.0f, 1.0f, 1.0f}), 0x1p-25f);
  EXPECT_EQ(Sum(0.0f, {1.0f, -1.0f, 0x1p-26f}, {1.0f, 1.0f, 1.0f}), 0.0f);
  EXPECT_EQ(Sum(0.0f, {1.0f, -1.0f, -0x1p-26f}, {1.0f, 1.0f, 1.0f}), -0x1p-25f);  // floor
  // Two that are lost alone add up, as long as each one has a bit of the product's 30.
  EXPECT_EQ(Sum(0.0f, {1.0f, -1.0f, 0x1p-26f, 0x1p-26f}, {1.0f, 1.0f, 1.0f, 1.0f}), 0x1p-25f);
  EXPECT_EQ(Sum(0.0f, {1.0f, -1.0f, 0x1p-29f}, {1.0f, 1.0f, 1.0f}), 0.0f);
}

TEST_F(Float32GroupTest, KeepsAllBitsOfTheFactors) {
  // (1 + e)^2 - (1 + 2 e) = e^2 is lost, 2 e is not.
  constexpr float kEpsilon = 0x1p-23f;
  EXPECT_EQ(Sum(-1.0f, {1.0f + kEpsilon}, {1.0f + kEpsilon}), 2 * kEpsilon);
  EXPECT_EQ(Sum(0.0f, {1.0f + kEpsilon, 1.0f}, {1.0f, -1.0f}), kEpsilon);
  EXPECT_EQ(Sum(0.0f, {-1.0f - kEpsilon, 1.0f}, {1.0f, 1.0f}), -kEpsilon);
}

TEST_F(Float32GroupTest, LosesLessThanAdditionsOfFloats) {
  std::normal_distribution<float> normal;
  double squares = 0, squares_of_floats = 0;
  for (int i = 0; i < 2'000; ++i) {
    double exact = 0;
    float sum = 0, sum_of_floats = 0;
    for (int group = 0; group < 64; ++group) {
      std::vector<float> activations(4), weights(4);
      for (std::size_t j = 0; j < 4; ++j) {
        activations[j] = normal(random_), weights[j] = normal(random_);
        exact += static_cast<double>(activations[j]) * static_cast<double>(weights[j]);
        sum_of_floats += activations[j] * weights[j];
      }
      sum = Sum(sum, activations, weights);
    }
    squares += std::pow(static_cast<double>(sum) - exact, 2);
    squares_of_floats += std::pow(static_cast<double>(sum_of_floats) - exact, 2);
  }
  EXPECT_LT(squares, squares_of_floats);
}

TEST(FloatLimitTest, IsThatOfTheSign) {
  const auto limited = [](float value, float low, float high) {
    return Float(LimitedFloat(BitsOf(value), BitsOf(low), BitsOf(high)));
  };
  EXPECT_EQ(limited(-3.0f, 0.0f, kInfinite), 0.0f);
  EXPECT_EQ(limited(3.0f, 0.0f, kInfinite), 3.0f);
  EXPECT_EQ(limited(6.0000005f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(limited(-7.0f, -6.0f, 2.0f), -6.0f);
  EXPECT_EQ(limited(-5.0f, -6.0f, 2.0f), -5.0f);
  EXPECT_EQ(limited(kInfinite, -6.0f, 2.0f), 2.0f);
  EXPECT_EQ(LimitedFloat(kFloat32Nan, BitsOf(-1.0f), BitsOf(1.0f)), kFloat32Nan);
}

}  // namespace
}  // namespace tributary::fpga
