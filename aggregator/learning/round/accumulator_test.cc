#include "aggregator/learning/round/accumulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tributary::learning {
namespace {

constexpr std::size_t kElements = 5003;  // no multiple of any vector
constexpr double kBound = 4;

struct Update {
  std::vector<float> values;
  double weight;
};

class AccumulatorTest : public ::testing::Test {
 protected:
  AccumulatorTest() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<float> uniform(-static_cast<float>(kBound), static_cast<float>(kBound));
    for (int node = 0; node < 6; ++node) {
      updates_.push_back({std::vector<float>(kElements), static_cast<double>(1 + random() % 5000)});
      for (float& value : updates_.back().values) value = uniform(random);
      total_weight_ += updates_.back().weight;
    }
    fixed_point_ = *parameters::FixedPoint::For(kBound, total_weight_, updates_.size());
    sum_.Start(fixed_point_);
  }

  std::vector<std::int64_t> Words(const Accumulator& sum) {
    std::vector<std::int64_t> words(kElements);
    EXPECT_TRUE(sum.Read(0, words).ok());
    return words;
  }
  void AddAll(Accumulator& sum) {
    for (const Update& update : updates_) ASSERT_TRUE(sum.Add(0, update.values, update.weight).ok());
  }

  std::vector<Update> updates_;
  double total_weight_ = 0;
  parameters::FixedPoint fixed_point_;
  Accumulator sum_{kElements};
};

// Per update half a word of rounding and 2^-23 of its value from two float roundings; 2^-24 · 2 of the
// result.
TEST_F(AccumulatorTest, GivesTheWeightedMean) {
  AddAll(sum_);
  const auto mean = sum_.TakeMean(total_weight_);
  ASSERT_TRUE(mean.ok());
  const double word = 1 / (fixed_point_.scale() * total_weight_);
  for (std::size_t i = 0; i < kElements; ++i) {
    double expected = 0;
    for (const Update& update : updates_) expected += update.weight * update.values[i] / total_weight_;
    EXPECT_NEAR((*mean)[i], expected, 0.5 * word * updates_.size() + 0x1p-22 * kBound) << i;
  }
}

TEST_F(AccumulatorTest, DoesNotDependOnTheOrderOfChunks) {
  AddAll(sum_);
  struct Chunk {
    std::size_t node, offset, count;
  };
  std::vector<Chunk> chunks;
  for (std::size_t node = 0; node < updates_.size(); ++node) {
    for (std::size_t offset = 0; offset < kElements; offset += 1024) {
      chunks.push_back({node, offset, std::min<std::size_t>(1024, kElements - offset)});
    }
  }
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::shuffle(chunks.begin(), chunks.end(), std::mt19937_64(seed));
    Accumulator shuffled(kElements);
    shuffled.Start(fixed_point_);
    for (const Chunk& chunk : chunks) {
      const std::span<const float> values = updates_[chunk.node].values;
      ASSERT_TRUE(
          shuffled.Add(chunk.offset, values.subspan(chunk.offset, chunk.count), updates_[chunk.node].weight)
              .ok());
    }
    EXPECT_EQ(Words(shuffled), Words(sum_));
  }
}

TEST_F(AccumulatorTest, TakesNothingOfAChunkThatItRefuses) {
  AddAll(sum_);
  const std::vector<std::int64_t> before = Words(sum_);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t place : {0ul, 1500ul, 2998ul, 2999ul}) {
    for (const float bad : {std::nanf(""), infinity, -infinity}) {
      std::vector<float> values(3000, 1.0f);
      values[place] = bad;
      EXPECT_EQ(sum_.Add(5, values, 10).code(), absl::StatusCode::kInvalidArgument);
    }
    std::vector<float> values(3000, 1.0f);
    values[place] = std::nextafter(static_cast<float>(kBound), infinity);
    EXPECT_EQ(sum_.Add(5, values, 10).code(), absl::StatusCode::kOutOfRange);
    values[place] = 1e38f;
    EXPECT_EQ(sum_.Add(5, values, 10).code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_EQ(Words(sum_), before);
}

TEST_F(AccumulatorTest, RefusesPlacesAndWeightsThatDoNotExist) {
  const std::vector<float> values(10, 1.0f);
  EXPECT_EQ(sum_.Add(kElements - 9, values, 1).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(sum_.Add(SIZE_MAX - 3, values, 1).code(), absl::StatusCode::kOutOfRange);
  for (const double weight : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_EQ(sum_.Add(0, values, weight).code(), absl::StatusCode::kOutOfRange) << weight;
  }
  EXPECT_FALSE(sum_.TakeMean(0).ok());
  EXPECT_EQ(Words(sum_), std::vector<std::int64_t>(kElements));
}

TEST_F(AccumulatorTest, AChildsPartialSumAddsExactly) {
  AddAll(sum_);
  Accumulator child(kElements), parent(kElements);
  child.Start(fixed_point_);
  parent.Start(fixed_point_);
  for (std::size_t node = 0; node < updates_.size(); ++node) {
    Accumulator& sum = node < 4 ? child : parent;
    ASSERT_TRUE(sum.Add(0, updates_[node].values, updates_[node].weight).ok());
  }
  const std::vector<std::int64_t> partial = Words(child);
  ASSERT_TRUE(parent.AddFixed(0, partial).ok());
  EXPECT_EQ(Words(parent), Words(sum_));
}

// What a node computes itself before it masks is what the aggregator would have added.
TEST_F(AccumulatorTest, TakesWordsThatANodeMadeItself) {
  AddAll(sum_);
  Accumulator words_only(kElements);
  words_only.Start(fixed_point_);
  std::vector<std::int32_t> words(kElements);
  for (const Update& update : updates_) {
    parameters::ToFixedPoint(update.values, parameters::FixedPointFactor(fixed_point_, update.weight), words);
    ASSERT_TRUE(words_only.AddFixed(0, std::vector<std::int64_t>(words.begin(), words.end())).ok());
  }
  EXPECT_EQ(Words(words_only), Words(sum_));
}

TEST_F(AccumulatorTest, HoldsNoSumAfterTheMean) {
  AddAll(sum_);
  ASSERT_TRUE(sum_.TakeMean(total_weight_).ok());
  const std::vector<float> values(10, 1.0f);
  EXPECT_EQ(sum_.Add(0, values, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sum_.TakeMean(1).status().code(), absl::StatusCode::kFailedPrecondition);
  sum_.Start(fixed_point_);
  EXPECT_EQ(Words(sum_), std::vector<std::int64_t>(kElements));
}

TEST_F(AccumulatorTest, TakesWordsModuloTheirWidth) {
  const std::vector<std::int64_t> most(kElements, INT32_MAX), one(kElements, 1);
  ASSERT_TRUE(sum_.AddFixed(0, most).ok());
  ASSERT_TRUE(sum_.AddFixed(0, one).ok());
  EXPECT_EQ(Words(sum_).front(), INT32_MIN);
  sum_.Start(*parameters::FixedPoint::For(kBound, 1, 1, 64));
  ASSERT_TRUE(sum_.AddFixed(0, most).ok());
  ASSERT_TRUE(sum_.AddFixed(0, one).ok());
  EXPECT_EQ(Words(sum_).back(), std::int64_t{1} << 31);
}

// Updates as a training step makes them, under the widest bound, from nodes with 10, 1,000 and 10^9 samples.
class UnequalWeightsTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr double kWidest = 1024;

  UnequalWeightsTest() {
    std::mt19937_64 random(11);
    std::normal_distribution<float> normal(0, 0.003f);
    for (const double weight : {10.0, 1e3, 1e9}) {
      updates_.push_back({std::vector<float>(kElements), weight});
      for (float& value : updates_.back().values) value = normal(random);
    }
    if (!GetParam()) updates_.pop_back();
  }

  // How far the mean is off in double precision, relative to its length. What the largest declares sets the
  // scale, whether it answers or not.
  double Error(int word_bits) {
    Accumulator sum(kElements);
    sum.Start(*parameters::FixedPoint::For(kWidest, 1e9 + 1010, 1 << 16, word_bits));
    double total_weight = 0;
    for (const Update& update : updates_) {
      EXPECT_TRUE(sum.Add(0, update.values, update.weight).ok());
      total_weight += update.weight;
    }
    const std::span<float> mean = *sum.TakeMean(total_weight);
    double error = 0, length = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      double expected = 0;
      for (const Update& update : updates_) expected += update.weight * update.values[i] / total_weight;
      error += std::pow(mean[i] - expected, 2);
      length += std::pow(expected, 2);
    }
    return std::sqrt(error / length);
  }

  std::vector<Update> updates_;
};

INSTANTIATE_TEST_SUITE_P(Nodes, UnequalWeightsTest, ::testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "TheLargestAnswers" : "TheLargestNeverAnswers";
});

TEST_P(UnequalWeightsTest, CostNoPrecisionInWideWords) {
  EXPECT_LT(Error(64), 1e-6);
  EXPECT_GT(Error(32), 1e-5) << "why the width is chosen";
}

}  // namespace
}  // namespace tributary::learning
