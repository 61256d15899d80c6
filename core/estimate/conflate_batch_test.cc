#include "core/estimate/conflate_batch.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/estimate/conflation.h"
#include "core/estimate/consistency.h"
#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::estimate {
namespace {

// Half a unit in the last place of fp32.
constexpr double kHalfUlp = 0x1p-24;

class ConflateBatchTest : public ::testing::Test {
 protected:
  // The same batch with every instruction set that this machine has.
  template <typename Check>
  void OnEveryTarget(Check check) {
    const int64_t best = hwy::SupportedTargets();
    for (int64_t rest = best; rest != 0; rest &= rest - 1) {
      hwy::SetSupportedTargetsForTest(rest);
      SCOPED_TRACE(hwy::TargetName(rest & -rest));
      check();
    }
    hwy::SetSupportedTargetsForTest(0);
  }

  void Draw(std::size_t sources, std::size_t rows, double condition, double scale) {
    inputs_.assign(sources, {});
    std::vector<std::vector<float>> means(sources), factors(sources);
    for (std::size_t row = 0; row < rows; ++row) {
      const Gaussian<2> centre = RandomGaussian<2>(random_, condition, scale, 5 * scale);
      for (std::size_t i = 0; i < sources; ++i) {
        // Alternately of one shape (the sum stays ill-conditioned) and of any orientation.
        Gaussian<2> one = row % 2 == 0 ? centre : RandomGaussian<2>(random_, condition, scale, 5 * scale);
        one.mean = centre.mean + one.cholesky * Vector<2>(normal_(random_), normal_(random_));
        for (int k = 0; k < 2; ++k) means[i].push_back(static_cast<float>(one.mean[k]));
        for (const double element : {one.cholesky(0, 0), one.cholesky(1, 0), one.cholesky(1, 1)}) {
          factors[i].push_back(static_cast<float>(element));
        }
        inputs_[i].push_back(Gaussian<2>::FromTuple(&means[i][2 * row], &factors[i][3 * row]));
      }
    }
    planes_.resize(sources);
    for (std::size_t i = 0; i < sources; ++i) ASSERT_TRUE(planes_[i].Load(means[i], factors[i]));
  }

  void Conflate() {
    std::vector<const TuplePlanes*> pointers;
    for (const TuplePlanes& planes : planes_) pointers.push_back(&planes);
    ConflateBatch(pointers, true, batch_);
  }

  Gaussian<2> ReferenceOf(std::size_t row, std::size_t leave_out = SIZE_MAX) const {
    std::vector<Gaussian<2>> column;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (i != leave_out) column.push_back(inputs_[i][row]);
    }
    return *tributary::estimate::Conflate<2>(column);
  }

  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::vector<std::vector<Gaussian<2>>> inputs_;  // [sources][rows]
  std::vector<TuplePlanes> planes_;
  ConflatedBatch batch_;
};

// Double arithmetic leaves 64·2⁻⁵³·√condition, less than a hundredth of fp32's half unit up to 1e12; the
// results are then rounded to fp32 once.
TEST_F(ConflateBatchTest, AgreesWithTheDoubleReferenceOverAllConditionsAndScales) {
  OnEveryTarget([&] {
    for (const double condition : {1.0, 1e4, 1e8, 1e12}) {
      for (const double scale : {1e-6, 1e-2, 1.0, 1e4}) {
        Draw(4, 37, condition, scale);
        Conflate();
        const double bound = kHalfUlp + 64 * 0x1p-53 * std::sqrt(condition);
        for (std::size_t row = 0; row < 37; ++row) {
          SCOPED_TRACE(testing::Message()
                       << "condition " << condition << ", scale " << scale << ", row " << row);
          const Gaussian<2> expected = ReferenceOf(row);
          const double l11 = expected.cholesky(0, 0);
          const double l22 = expected.cholesky(1, 1);
          const double second = expected.cholesky.row(1).norm();
          EXPECT_NEAR(batch_.fused.l11()[row], l11, 1.01 * bound * l11);
          EXPECT_NEAR(batch_.fused.l21()[row], expected.cholesky(1, 0), 1.01 * bound * second);
          EXPECT_NEAR(batch_.fused.l22()[row], l22, 1.01 * bound * l22);
          EXPECT_NEAR(batch_.fused.mean_x()[row], expected.mean[0],
                      1.01 * bound * (std::abs(expected.mean[0]) + l11));
          EXPECT_NEAR(batch_.fused.mean_y()[row], expected.mean[1],
                      1.01 * bound * (std::abs(expected.mean[1]) + second));
        }
      }
    }
  });
}

TEST_F(ConflateBatchTest, MeasuresDistancesAndInnovations) {
  OnEveryTarget([&] {
    for (const double condition : {1.0, 1e4, 1e8}) {
      Draw(5, 24, condition, 0.1);
      Conflate();
      for (std::size_t row = 0; row < 24; ++row) {
        const Gaussian<2> fused = ReferenceOf(row);
        double distance = 0;
        for (std::size_t i = 0; i < 5; ++i) {
          distance += inputs_[i][row].SquaredDistance(fused.mean);
          const double innovation = NormalisedInnovationSquared<2>(inputs_[i][row], ReferenceOf(row, i));
          EXPECT_NEAR(batch_.innovation[i * batch_.fused.padded_size() + row], innovation,
                      1e-5 * (1 + innovation));
        }
        EXPECT_NEAR(batch_.squared_distance[row], distance, 1e-5 * (1 + distance));
      }
    }
  });
}

TEST_F(ConflateBatchTest, DoesNotDependOnTheOrderOfTheSources) {
  Draw(4, 16, 1e6, 1);
  Conflate();
  const std::vector<float> before(batch_.fused.l11(), batch_.fused.l11() + 16);
  std::swap(planes_[0], planes_[3]);
  std::swap(planes_[1], planes_[2]);
  Conflate();
  for (std::size_t row = 0; row < 16; ++row) EXPECT_FLOAT_EQ(batch_.fused.l11()[row], before[row]);
}

TEST_F(ConflateBatchTest, AVagueTupleCountsForNothing) {
  Draw(3, 8, 100, 1);
  Conflate();
  std::vector<float> l11(batch_.fused.l11(), batch_.fused.l11() + 8);
  std::vector<float> mean_y(batch_.fused.mean_y(), batch_.fused.mean_y() + 8);
  planes_.emplace(planes_.begin())->ResizeVague(8);
  Conflate();
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(batch_.fused.l11()[row], l11[row]);
    EXPECT_FLOAT_EQ(batch_.fused.mean_y()[row], mean_y[row]);
  }
}

TEST_F(ConflateBatchTest, ExtremeInputsNeverGiveNotANumber) {
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::denorm_min();
  const std::vector<float> extremes = {smallest, 1e-20f, 1.0f, 1e20f, largest};
  OnEveryTarget([&] {
    for (const float a : extremes) {
      for (const float b : extremes) {
        planes_.resize(2);
        ASSERT_TRUE(
            planes_[0].Load(std::vector<float>{largest, -largest}, std::vector<float>{a, largest, b}));
        ASSERT_TRUE(planes_[1].Load(std::vector<float>{-largest, a}, std::vector<float>{b, -largest, a}));
        Conflate();
        EXPECT_FALSE(std::isnan(batch_.squared_distance[0]));
        EXPECT_FALSE(std::isnan(batch_.innovation[0]));
        EXPECT_FALSE(std::isnan(batch_.fused.l11()[0]));
        EXPECT_FALSE(std::isnan(batch_.fused.mean_x()[0])) << a << " " << b;
      }
    }
  });
}

TEST(TuplePlanesTest, StoresWhatWasLoaded) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(0.1f, 2.0f);
  for (const std::size_t n : {0u, 1u, 3u, 7u, 16u, 31u, 100u}) {
    std::vector<float> means(2 * n), factors(3 * n), stored_means(2 * n), stored_factors(3 * n);
    for (float& value : means) value = uniform(random);
    for (float& value : factors) value = uniform(random);
    TuplePlanes planes;
    EXPECT_TRUE(planes.Load(means, factors));
    EXPECT_TRUE(planes.Store(stored_means, stored_factors));
    EXPECT_EQ(stored_means, means);
    EXPECT_EQ(stored_factors, factors);
  }
}

TEST(TuplePlanesTest, FindsEveryUnsoundValueWhereverItStands) {
  const std::size_t n = 21;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), 0.0f, -1.0f}) {
    for (std::size_t at = 0; at < 5 * n; ++at) {
      std::vector<float> means(2 * n, 1.0f), factors(3 * n, 1.0f);
      const bool in_factor = at >= 2 * n;
      (in_factor ? factors[at - 2 * n] : means[at]) = bad;
      const bool diagonal = in_factor && (at - 2 * n) % 3 != 1;
      const bool sound = std::isfinite(bad) && !diagonal;
      TuplePlanes planes;
      EXPECT_EQ(planes.Load(means, factors), sound) << bad << " at " << at;
      EXPECT_EQ(ValidTuples(2, means, factors), sound) << bad << " at " << at;
    }
  }
}

}  // namespace
}  // namespace tributary::estimate
