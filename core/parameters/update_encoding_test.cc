#include "core/parameters/update_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace tributary::parameters {
namespace {

constexpr UpdateEncoding kFloatEncodings[] = {UpdateEncoding::kFloat32, UpdateEncoding::kFloat16,
                                              UpdateEncoding::kInt8, UpdateEncoding::kInt12,
                                              UpdateEncoding::kTopK};

std::vector<float> Draw(std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 0.01f);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

// Encodes in chunks and decodes again; `values` keep what was left.
std::vector<float> RoundTrip(UpdateEncoding encoding, std::span<float> values) {
  UpdateDecoder decoder(encoding, values.size());
  std::vector<float> result;
  std::string payload;
  while (!decoder.complete()) {
    const std::size_t offset = decoder.next_offset();
    const std::size_t count = std::min(ElementsPerChunk(encoding), values.size() - offset);
    EXPECT_TRUE(EncodeChunk(encoding, values.subspan(offset, count), payload).ok());
    EXPECT_EQ(payload.size(), EncodedBytes(encoding, count));
    EXPECT_LE(payload.size(), kMaxChunkBytes);
    const auto decoded = decoder.Decode(offset, count, payload);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    if (!decoded.ok()) break;
    result.insert(result.end(), decoded->begin(), decoded->end());
  }
  return result;
}

TEST(UpdateEncodingTest, HasNames) {
  EXPECT_EQ(UpdateEncodingName(UpdateEncoding::kFloat32), "float32");
  EXPECT_EQ(UpdateEncodingName(UpdateEncoding::kFixed32), "fixed32");
  EXPECT_EQ(UpdateEncodingName(static_cast<UpdateEncoding>(0)), "unknown");
  EXPECT_EQ(UpdateEncodingName(UpdateEncoding::kFixed64), "fixed64");
  EXPECT_EQ(UpdateEncodingName(UpdateEncoding::kTopK), "topk");
  EXPECT_EQ(UpdateEncodingName(static_cast<UpdateEncoding>(8)), "unknown");
}

// What arrives and what is left add up to what was sent, up to the rounding of that subtraction.
TEST(UpdateEncodingTest, WhatArrivesAndWhatIsLeftAddUp) {
  for (const UpdateEncoding encoding : kFloatEncodings) {
    for (const std::size_t n : {1ul, 1023ul, 1024ul, 1025ul, 600'001ul}) {
      const std::vector<float> sent = Draw(n);
      std::vector<float> left = sent;
      const std::vector<float> arrived = RoundTrip(encoding, left);
      ASSERT_EQ(arrived.size(), n);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(static_cast<double>(arrived[i]) + left[i], sent[i], 0x1p-23 * std::fabs(sent[i]))
            << UpdateEncodingName(encoding) << " " << i;
      }
    }
  }
}

// Half a unit: of the scale (largest / 127 or 2047), of binary16 (11 bits).
TEST(UpdateEncodingTest, LosesAtMostHalfAUnit) {
  const std::vector<float> sent = Draw(1024);
  float largest = 0;
  for (const float value : sent) largest = std::max(largest, std::fabs(value));
  const auto worst = [&](UpdateEncoding encoding) {
    std::vector<float> left = sent;
    RoundTrip(encoding, left);
    float most = 0;
    for (const float value : left) most = std::max(most, std::fabs(value));
    return most;
  };
  EXPECT_EQ(worst(UpdateEncoding::kFloat32), 0);
  EXPECT_LE(worst(UpdateEncoding::kInt8), 0.5001f * largest / 127);
  EXPECT_LE(worst(UpdateEncoding::kInt12), 0.5001f * largest / 2047);
  EXPECT_LE(worst(UpdateEncoding::kFloat16), 0x1p-12f * largest * 2);
}

TEST(UpdateEncodingTest, HalfPrecisionKeepsItsOwnNumbers) {
  std::vector<float> sent;
  for (int exponent = -24; exponent < 16; ++exponent) {
    sent.push_back(std::ldexp(1.0f, exponent));
    sent.push_back(-sent.back());
  }
  sent.insert(sent.end(), {0.0f, -0.0f, 65504.0f, -65504.0f, 1023 * 0x1p-24f});
  std::vector<float> left = sent;
  EXPECT_EQ(RoundTrip(UpdateEncoding::kFloat16, left), sent);
}

// Ties go to the even neighbour: 1 + 2^-11 lies between 1 and 1 + 2^-10.
TEST(UpdateEncodingTest, HalfPrecisionRoundsToTheNearest) {
  std::vector<float> left = {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 1 + 0x1.01p-11f,
                             0x1p-25f,     0x1.01p-25f,      65519.0f / 2};
  EXPECT_EQ(RoundTrip(UpdateEncoding::kFloat16, left),
            (std::vector<float>{1, 1 + 0x1p-9f, 1 + 0x1p-10f, 0, 0x1p-24f, 32752}));
}

// Over many rounds the node's feedback lets everything through: the sums differ by what is left, no more.
TEST(UpdateEncodingTest, ErrorFeedbackLosesNothingOverTheRounds) {
  constexpr std::size_t kElements = 2000;
  std::vector<float> residual(kElements);
  std::vector<double> sent(kElements), arrived(kElements);
  for (std::uint64_t round = 0; round < 50; ++round) {
    const std::vector<float> delta = Draw(kElements, round);
    for (std::size_t i = 0; i < kElements; ++i) {
      sent[i] += delta[i];
      residual[i] += delta[i];
    }
    const std::vector<float> decoded = RoundTrip(UpdateEncoding::kInt8, residual);
    for (std::size_t i = 0; i < kElements; ++i) arrived[i] += decoded[i];
  }
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(arrived[i] + residual[i], sent[i], 1e-6);
}

TEST(UpdateEncodingTest, Int8TakesLessThanAQuarterAndAFiftiethOfFloat32) {
  constexpr std::size_t kElements = 1'000'000;
  constexpr double kChunkHeader = 32;  // offset, count, CRC and the framing of each chunk, generously
  const auto with_headers = [](UpdateEncoding encoding) {
    const double chunks =
        std::ceil(static_cast<double>(kElements) / static_cast<double>(ElementsPerChunk(encoding)));
    return static_cast<double>(EncodedBytes(encoding, kElements)) + chunks * kChunkHeader;
  };
  EXPECT_LE(with_headers(UpdateEncoding::kInt8), 0.27 * with_headers(UpdateEncoding::kFloat32));
  EXPECT_LE(with_headers(UpdateEncoding::kInt12), 0.40 * with_headers(UpdateEncoding::kFloat32));
}

TEST(UpdateEncodingTest, TopKKeepsTheLargestOfEachBlockAndLeavesTheRest) {
  std::vector<float> values(1024 + 40);
  std::iota(values.begin(), values.begin() + 1024, 1.0f);
  for (std::size_t i = 0; i < 512; ++i) values[2 * i] *= -1;
  values[1024 + 7] = 5;
  values[1024 + 8] = -5;  // equal ones: the first that fit
  values[1024 + 9] = 5;
  std::vector<float> left = values;
  const std::vector<float> arrived = RoundTrip(UpdateEncoding::kTopK, left);
  for (std::size_t i = 0; i < 1024; ++i) {
    if (i < 1024 - 32) {
      EXPECT_EQ(arrived[i], 0) << i;
      EXPECT_EQ(left[i], values[i]) << i;
    } else {
      EXPECT_NEAR(arrived[i], values[i], 0.51 * 1024 / 127) << i;
    }
  }
  EXPECT_EQ(arrived[1024 + 7], 5) << "a part of 32 elements keeps one, too";
  EXPECT_EQ(arrived[1024 + 8], -5);
  EXPECT_EQ(arrived[1024 + 9], 0);
  EXPECT_EQ(left[1024 + 9], 5);
}

TEST(UpdateEncodingTest, TopKTakesATenthOfInt8) {
  EXPECT_EQ(EncodedBytes(UpdateEncoding::kTopK, 1024), 100u);
  EXPECT_EQ(EncodedBytes(UpdateEncoding::kTopK, 1), 7u);
  EXPECT_EQ(ElementsPerChunk(UpdateEncoding::kTopK), kMaxChunkElements);
}

TEST(UpdateEncodingTest, RefusesToEncodeWhatIsNotANumber) {
  for (const UpdateEncoding encoding : kFloatEncodings) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      std::vector<float> values = {1, bad, 2};
      std::string payload;
      const absl::Status status = EncodeChunk(encoding, values, payload);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("element 1"), std::string::npos) << status;
      EXPECT_EQ(values[0], 1);
    }
  }
  std::vector<float> large = {65505};
  std::string payload;
  EXPECT_FALSE(EncodeChunk(UpdateEncoding::kFloat16, large, payload).ok());
  EXPECT_FALSE(EncodeChunk(UpdateEncoding::kFixed32, large, payload).ok());
}

TEST(UpdateEncodingTest, KeepsWordsAsTheyAre) {
  const std::vector<std::int32_t> words = {0, -1, INT32_MIN, INT32_MAX};
  std::string payload;
  EncodeFixedChunk(words, payload);
  UpdateDecoder decoder(UpdateEncoding::kFixed32, 4);
  const auto decoded = decoder.DecodeFixed(0, 4, payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::ranges::equal(*decoded, words));
  EXPECT_TRUE(decoder.complete());
  EXPECT_FALSE(decoder.Decode(0, 4, payload).ok());
}

TEST(UpdateEncodingTest, KeepsWideWordsAsTheyAre) {
  const std::vector<std::int64_t> words = {0, -1, INT64_MIN, INT64_MAX};
  std::string payload;
  EncodeFixedChunk(words, payload);
  UpdateDecoder decoder(UpdateEncoding::kFixed64, 4);
  EXPECT_FALSE(decoder.DecodeFixed(0, 4, std::string_view(payload).substr(16)).ok());
  const auto decoded = decoder.DecodeFixed(0, 4, payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::ranges::equal(*decoded, words));
}

TEST(SumOfSquaresTest, TakesEveryElementOnce) {
  for (std::size_t n = 0; n < 20; ++n) {
    std::vector<float> values(n);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(i + 1);
      expected += static_cast<double>((i + 1) * (i + 1));
    }
    EXPECT_EQ(SumOfSquares(values), expected);
  }
}

class HostileChunkTest : public ::testing::Test {
 protected:
  absl::StatusCode Decode(std::uint64_t offset, std::uint64_t count, std::string_view payload) {
    return decoder_.Decode(offset, count, payload).status().code();
  }
  static std::string Encoded(std::size_t count) {
    std::vector<float> values = Draw(count);
    std::string payload;
    EXPECT_TRUE(EncodeChunk(UpdateEncoding::kInt8, values, payload).ok());
    return payload;
  }
  UpdateDecoder decoder_{UpdateEncoding::kInt8, 2500};
};

TEST_F(HostileChunkTest, RefusesAChunkThatDoesNotFollow) {
  EXPECT_EQ(Decode(1024, 1024, Encoded(1024)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Decode(0, 1024, Encoded(1024)), absl::StatusCode::kOk);
  EXPECT_EQ(Decode(0, 1024, Encoded(1024)), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HostileChunkTest, RefusesMoreThanTheModelHas) {
  EXPECT_EQ(Decode(0, 25'000, Encoded(25'000)), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Decode(0, UINT64_MAX, Encoded(1024)), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Decode(0, 1024, std::string(kMaxChunkBytes + 1, 'x')), absl::StatusCode::kResourceExhausted);
}

TEST_F(HostileChunkTest, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(Decode(0, 0, ""), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode(0, 1024, Encoded(1023)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode(0, 1000, Encoded(1000)), absl::StatusCode::kDataLoss);  // a block that is not the last
  EXPECT_FALSE(decoder_.complete());
}

TEST_F(HostileChunkTest, RefusesScalesThatAreNotFinite) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -1.0f, 3e38f}) {
    std::string payload = Encoded(2500);
    std::memcpy(payload.data() + EncodedBytes(UpdateEncoding::kInt8, 1024), &bad, sizeof(bad));
    EXPECT_EQ(Decode(0, 2500, payload), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(UpdateDecoderTest, RefusesValuesThatAreNotFinite) {
  const float values[] = {1, std::nanf("")};
  UpdateDecoder float32(UpdateEncoding::kFloat32, 2);
  EXPECT_EQ(float32.Decode(0, 2, {reinterpret_cast<const char*>(values), sizeof(values)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  UpdateDecoder float16(UpdateEncoding::kFloat16, 1);
  EXPECT_EQ(float16.Decode(0, 1, std::string_view("\0\x7c", 2)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(UpdateDecoderTest, ReadsFloat32WhereverItLies) {
  const std::vector<float> sent = Draw(100);
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string payload(shift, '\0');
    payload.append(reinterpret_cast<const char*>(sent.data()), 400);
    UpdateDecoder decoder(UpdateEncoding::kFloat32, 100);
    const auto values = decoder.Decode(0, 100, std::string_view(payload).substr(shift));
    ASSERT_TRUE(values.ok());
    EXPECT_TRUE(std::ranges::equal(*values, sent));
    EXPECT_TRUE(decoder.complete());
  }
}

TEST(UpdateDecoderTest, RefusesPlacesThatDoNotAscendOrLieElsewhere) {
  std::vector<float> values(1024);
  std::iota(values.begin(), values.end(), 1.0f);
  std::string good;
  ASSERT_TRUE(EncodeChunk(UpdateEncoding::kTopK, values, good).ok());
  const auto decode = [](const std::string& payload) {
    return UpdateDecoder(UpdateEncoding::kTopK, 1024).Decode(0, 1024, payload).status().code();
  };
  EXPECT_EQ(decode(good), absl::StatusCode::kOk);
  for (const std::uint16_t place : {std::uint16_t{992}, std::uint16_t{1024}, std::uint16_t{65535}}) {
    std::string payload = good;
    std::memcpy(payload.data() + payload.size() - 3, &place, sizeof(place));
    EXPECT_EQ(decode(payload), absl::StatusCode::kInvalidArgument) << place;
  }
  const std::string many(EncodedBytes(UpdateEncoding::kTopK, 2 * kMaxChunkElements), '\0');
  EXPECT_EQ(UpdateDecoder(UpdateEncoding::kTopK, 4 * kMaxChunkElements)
                .Decode(0, 2 * kMaxChunkElements, many)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(UpdateDecoderTest, RefusesInt12PaddingThatIsNotZero) {
  std::vector<float> values = {1};
  std::string payload;
  ASSERT_TRUE(EncodeChunk(UpdateEncoding::kInt12, values, payload).ok());
  payload.back() = 1;
  EXPECT_EQ(UpdateDecoder(UpdateEncoding::kInt12, 1).Decode(0, 1, payload).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tributary::parameters
