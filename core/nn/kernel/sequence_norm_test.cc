#include "core/nn/kernel/sequence_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr SequenceShape kNormShape = {3, 5};
constexpr std::size_t kSequences = 21;  // two passes, the second one not full
constexpr std::size_t kFloats = 2 * kNormShape.size() * kSequenceLanes;

class SequenceNormTest : public ::testing::Test {
 protected:
  // Calls visit(index) for every value of the sequences in a channel.
  template <class Visit>
  static void ForEach(std::size_t channel, Visit visit) {
    for (std::size_t sequence = 0; sequence < kSequences; ++sequence) {
      for (std::size_t t = 0; t < kNormShape.length; ++t) {
        const std::size_t pass = sequence / kSequenceLanes, lane = sequence % kSequenceLanes;
        visit(((pass * kNormShape.channels + channel) * kNormShape.length + t) * kSequenceLanes + lane);
      }
    }
  }

  std::vector<float> Forward() {
    std::vector<float> y(kFloats);
    norm_.Forward(kSequences, x_.data(), scale_, shift_, y.data());
    return y;
  }

  // Σ y · direction over the sequences.
  double Along() {
    const std::vector<float> y = Forward();
    double sum = 0;
    for (std::size_t c = 0; c < kNormShape.channels; ++c) {
      ForEach(c, [&](std::size_t i) { sum += double{y[i]} * direction_[i]; });
    }
    return sum;
  }

  double Slope(float& value) {
    constexpr float kStep = 1e-2f;
    const float before = value;
    value = before + kStep;
    const double above = Along();
    value = before - kStep;
    const double below = Along();
    value = before;
    return (above - below) / (2 * kStep);
  }

  SequenceNorm norm_{kNormShape};
  std::vector<float> x_ = RandomValues(kFloats, 1, 2.0f);
  std::vector<float> direction_ = RandomValues(kFloats, 2);
  std::vector<float> scale_ = {0.5f, 1.5f, -2.0f}, shift_ = {1.0f, -3.0f, 0.25f};
};

TEST_F(SequenceNormTest, GivesEachChannelItsScaleAndShift) {
  const std::vector<float> y = Forward();
  constexpr double kCount = kSequences * kNormShape.length;
  for (std::size_t c = 0; c < kNormShape.channels; ++c) {
    double mean = 0, squares = 0;
    ForEach(c, [&](std::size_t i) { mean += y[i] / kCount; });
    ForEach(c, [&](std::size_t i) { squares += (y[i] - mean) * (y[i] - mean) / kCount; });
    EXPECT_NEAR(mean, shift_[c], 1e-5);
    EXPECT_NEAR(std::sqrt(squares), std::abs(scale_[c]), 1e-4);
  }
}

TEST_F(SequenceNormTest, UnusedLanesCountForNothing) {
  const std::vector<float> y = Forward();
  for (std::size_t i = kFloats / 2; i < kFloats; ++i) {
    if (i % kSequenceLanes < kSequences - kSequenceLanes) continue;
    EXPECT_EQ(y[i], 0.0f);
    x_[i] = 1e6f;
  }
  EXPECT_EQ(Forward(), y);
}

// Central differences of a sum of 300 products in single precision, step 0.01: about 1e-3.
TEST_F(SequenceNormTest, BackwardIsTheSlope) {
  Forward();
  std::vector<float> gradient = direction_, scale_gradient(3), shift_gradient(3);
  norm_.Backward(kSequences, x_.data(), scale_, gradient.data(), scale_gradient, shift_gradient);
  for (std::size_t c = 0; c < kNormShape.channels; ++c) {
    EXPECT_NEAR(scale_gradient[c], Slope(scale_[c]), 5e-3);
    EXPECT_NEAR(shift_gradient[c], Slope(shift_[c]), 5e-3);
    std::size_t n = 0;
    ForEach(c, [&](std::size_t i) {
      if (n++ % 13 == 0) {
        EXPECT_NEAR(gradient[i], Slope(x_[i]), 5e-3) << i;
      }
    });
  }
}

TEST_F(SequenceNormTest, FoldsToWhatTheSameBatchWouldGive) {
  const std::vector<float> y = Forward();
  std::vector<float> factor(3), offset(3);
  norm_.Fold(scale_, shift_, factor, offset);
  // The running variance is the unbiased one: larger by 1 / 104.
  for (std::size_t c = 0; c < kNormShape.channels; ++c) {
    ForEach(c, [&](std::size_t i) { EXPECT_NEAR(x_[i] * factor[c] + offset[c], y[i], 0.05); });
  }
}

}  // namespace
}  // namespace tributary::nn
