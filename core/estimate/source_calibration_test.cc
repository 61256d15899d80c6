#include "core/estimate/source_calibration.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::estimate {
namespace {

constexpr double kPerDegree = std::numbers::pi / 180;

// Four panels on the walls of a room of 10 m that see users anywhere in it; what they claim is an error of 2
// cm.
class SourceCalibrationTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kPanels = 4;
  static constexpr double kClaimedM = 0.02;

  struct Panel {
    Vector<2> place;
    double turn_deg = 0;
    Vector<2> shift = Vector<2>::Zero();
    double true_scale = 1;
    Vector<2> lie = Vector<2>::Zero();
  };

  // What a panel says of a user: seen from where it thinks that it hangs.
  Gaussian<2> Tuple(const Panel& panel, const Vector<2>& user) {
    const double angle = panel.turn_deg * kPerDegree;
    Matrix<2> back;  // turned by +angle, the panel sees everything turned by -angle
    back << std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle);
    Gaussian<2> tuple;
    tuple.mean = panel.place + back * (user - panel.place - panel.shift) + panel.lie;
    tuple.mean += panel.true_scale * kClaimedM * Vector<2>(normal_(random_), normal_(random_));
    tuple.cholesky *= kClaimedM;
    return tuple;
  }

  // `seconds` of ten looks at 16 users; the mean error of the conflation in the last of them, m.
  double Run(int seconds) {
    double error = 0;
    for (int second = 0; second < seconds; ++second) {
      error = 0;
      for (int look = 0; look < 10; ++look) {
        calibration_.Forget(std::exp(-0.1 / 30));
        for (int user = 0; user < 16; ++user) error += Look() / 160;
      }
      calibration_.Solve();
    }
    return error;
  }
  double Look() {
    const Vector<2> user(position_(random_), position_(random_));
    std::vector<SourceCalibration::Observation> tuples;
    std::vector<Gaussian<2>> corrected;
    for (std::size_t i = 0; i < kPanels; ++i) {
      corrected.push_back(calibration_.state(i).correction.Apply(Tuple(panels_[i], user)));
      tuples.push_back({i, corrected.back()});
    }
    calibration_.Observe(tuples);
    return (Conflate<2>(corrected)->mean - user).norm();
  }
  double TurnDeg(std::size_t panel) const { return calibration_.state(panel).correction.turn / kPerDegree; }

  std::array<Panel, kPanels> panels_ = {{{{0, -5}}, {{5, 0}}, {{0, 5}}, {{-5, 0}}}};
  SourceCalibration calibration_{MountingPrior(), std::vector<Vector<2>>{{0, -5}, {5, 0}, {0, 5}, {-5, 0}}};
  std::mt19937_64 random_{5};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> position_{-4.5, 4.5};
};

// 0.3 % is the standard error of a scale after 30 s of 160 tuples of two dimensions a second.
TEST_F(SourceCalibrationTest, LeavesHonestSourcesAsTheyAre) {
  Run(30);
  for (std::size_t i = 0; i < kPanels; ++i) {
    EXPECT_NEAR(calibration_.state(i).correction.scale, 1, 0.03);
    EXPECT_NEAR(TurnDeg(i), 0, 0.1);
    EXPECT_LT(calibration_.state(i).correction.shift.norm(), 0.005);
  }
}

TEST_F(SourceCalibrationTest, FindsHowMuchLargerEachSourcesErrorsAreThanItClaims) {
  panels_[0].true_scale = 3;
  panels_[1].true_scale = 0.5;
  Run(30);
  EXPECT_NEAR(calibration_.state(0).correction.scale, 3, 0.15);
  EXPECT_NEAR(calibration_.state(1).correction.scale, 0.65, 0.1) << "agreement is not followed all the way";
  EXPECT_NEAR(calibration_.state(2).correction.scale, 1, 0.05);
}

TEST_F(SourceCalibrationTest, FindsASourceThatIsTurned) {
  panels_[2].turn_deg = 2;
  const double error_m = Run(30);
  // The tuples' own error: 2 cm / √4, of which the mean distance is √(π/2) times as large; 10 % beside it.
  EXPECT_LT(error_m, 1.1 * 0.01253);
  EXPECT_NEAR(TurnDeg(2), 2, 0.2);
  EXPECT_NEAR(TurnDeg(0), 0, 0.2);
}

// All by the same angle: only the plan, which knows the places, tells that from a turn of the room.
TEST_F(SourceCalibrationTest, FindsThatAllSourcesAreTurned) {
  for (Panel& panel : panels_) panel.turn_deg = 2;
  EXPECT_LT(Run(30), 1.2 * 0.01253);
  for (std::size_t i = 0; i < kPanels; ++i) {
    EXPECT_NEAR(TurnDeg(i), 2, 0.2);
    // The turn of the whole room is known as well as the places are: 2 cm in 5 m, four times.
    EXPECT_NEAR(calibration_.state(i).turn_deviation / kPerDegree, 0.5 * std::atan(0.02 / 5) / kPerDegree,
                0.03);
  }
}

TEST_F(SourceCalibrationTest, FindsASourceThatHasMoved) {
  panels_[1].shift = {0.04, -0.02};
  Run(30);
  // What all four have in common cannot be seen: a quarter of the shift at the prior's rate.
  EXPECT_NEAR(calibration_.state(1).correction.shift[0], 0.03, 0.012);
  EXPECT_NEAR(calibration_.state(1).correction.shift[1], -0.015, 0.012);
}

// Shifts of 2 cm that differ: the one that all have in common is as likely, and four sources halve it.
TEST_F(SourceCalibrationTest, SourcesThatHaveMovedApartMayHaveMovedTogether) {
  Run(30);
  EXPECT_LT(std::sqrt(calibration_.CommonVariance()), 0.002) << "these are where the plan says";
  panels_[0].shift = {0.028, 0};
  panels_[1].shift = {-0.028, 0};
  panels_[2].shift = {0, 0.028};
  panels_[3].shift = {0, -0.028};
  Run(120);
  EXPECT_NEAR(std::sqrt(calibration_.CommonVariance()), 0.01, 0.003);
  Gaussian<2> fused;
  fused.cholesky << 0.01, 0, -0.02, 0.005;
  const Matrix<2> added = calibration_.WithCommon(fused).Covariance() - fused.Covariance();
  EXPECT_NEAR((added - calibration_.CommonVariance() * Matrix<2>::Identity()).norm(), 0, 1e-12);
}

TEST_F(SourceCalibrationTest, FollowsASourceThatIsTurnedLater) {
  Run(60);
  panels_[3].turn_deg = -1.5;
  Run(120);
  EXPECT_NEAR(TurnDeg(3), -1.5, 0.2);
}

// Its positions are 1 m off: it is trusted least, and pulls nobody along.
TEST_F(SourceCalibrationTest, ALiarHarmsItselfOnly) {
  panels_[0].lie = {1, 0};
  const double error_m = Run(30);
  EXPECT_LT(error_m, 0.03);
  for (std::size_t i = 1; i < kPanels; ++i) EXPECT_LT(calibration_.state(i).correction.shift.norm(), 0.02);
}

// What it teaches of mountings is bounded by what the others know, so it is forgotten as fast as that.
TEST_F(SourceCalibrationTest, WhoClaimsToBeCertainTeachesNoMoreThanTheOthersKnow) {
  Run(10);
  const auto largest = [&](std::size_t panel) {
    return calibration_.learnt()
        .normal.diagonal()
        .segment(3 * static_cast<Eigen::Index>(panel), 2)
        .maxCoeff();
  };
  const double honest = largest(1);
  for (int look = 0; look < 1600; ++look) {
    std::vector<SourceCalibration::Observation> tuples;
    for (std::size_t i = 0; i < kPanels; ++i) tuples.push_back({i, Tuple(panels_[i], {1, 2})});
    tuples[0].tuple.cholesky *= 1e-12 / kClaimedM;
    calibration_.Observe(tuples);
  }
  EXPECT_LT(largest(0), 10 * honest);
  EXPECT_TRUE(calibration_.Restore(calibration_.learnt()).ok());
}

TEST_F(SourceCalibrationTest, StaysFiniteWhateverItIsTold) {
  Gaussian<2> huge, tiny;
  huge.mean = {1e300, -1e300};
  huge.cholesky *= 1e-300;
  tiny.cholesky *= 1e300;
  for (int i = 0; i < 20; ++i) {
    const std::array<SourceCalibration::Observation, 2> tuples = {{{0, huge}, {1, tiny}}};
    calibration_.Observe(tuples);
    calibration_.Solve();
  }
  for (std::size_t i = 0; i < kPanels; ++i) {
    const Correction& correction = calibration_.state(i).correction;
    EXPECT_TRUE(correction.shift.allFinite());
    EXPECT_TRUE(std::isfinite(correction.turn));
    EXPECT_GE(correction.scale, SourceCalibration::kLeastScale);
    EXPECT_LE(correction.scale, SourceCalibration::kMostScale);
  }
}

TEST_F(SourceCalibrationTest, ASingleTupleSaysNothing) {
  const std::array<SourceCalibration::Observation, 1> alone = {{{0, Gaussian<2>()}}};
  calibration_.Observe(alone);
  calibration_.Solve();
  EXPECT_EQ(calibration_.state(0).observations, 0);
}

TEST(WidenFactorsTest, AddsTheVarianceToEachCovariance) {
  std::mt19937_64 random(4);
  std::vector<float> factors;
  std::vector<Matrix<2>> covariances;
  for (int i = 0; i < 9; ++i) {
    const Gaussian<2> tuple = RandomGaussian<2>(random, 1, 1e-3, 4);
    for (const double v : {tuple.cholesky(0, 0), tuple.cholesky(1, 0), tuple.cholesky(1, 1)}) {
      factors.push_back(static_cast<float>(v));
    }
    covariances.push_back(tuple.Covariance() + 0.25 * Matrix<2>::Identity());
  }
  WidenFactors(0.25f, factors);
  for (std::size_t i = 0; i < covariances.size(); ++i) {
    Matrix<2> factor;
    factor << factors[3 * i], 0, factors[3 * i + 1], factors[3 * i + 2];
    const Matrix<2> error = factor * factor.transpose() - covariances[i];
    EXPECT_LT(error.norm(), 1e-6 * covariances[i].norm());
    EXPECT_GT(factors[3 * i + 2], 0);
  }
  const std::vector<float> before = factors;
  WidenFactors(0, factors);
  EXPECT_EQ(factors, before);
}

// In single precision: some units in the last place of the largest number, 6e-8 each.
TEST(CorrectionTest, IsTheSameForPlanesAndForSingleTuples) {
  std::mt19937_64 random(3);
  const Correction correction{.place = {0, -5}, .shift = {0.02, -0.01}, .turn = 0.04, .scale = 1.7};
  std::vector<float> means, factors;
  std::vector<Gaussian<2>> tuples;
  for (int i = 0; i < 21; ++i) {
    tuples.push_back(RandomGaussian<2>(random, 100, 0.05, 4));
    means.insert(means.end(),
                 {static_cast<float>(tuples.back().mean[0]), static_cast<float>(tuples.back().mean[1])});
    const Matrix<2>& factor = tuples.back().cholesky;
    for (const double v : {factor(0, 0), factor(1, 0), factor(1, 1)})
      factors.push_back(static_cast<float>(v));
  }
  TuplePlanes planes;
  ASSERT_TRUE(planes.Load(means, factors));
  correction.Apply(planes);
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const Gaussian<2> expected = correction.Apply(tuples[i]);
    EXPECT_NEAR(planes.mean_x()[i], expected.mean[0], 4e-6);
    EXPECT_NEAR(planes.mean_y()[i], expected.mean[1], 4e-6);
    EXPECT_NEAR(planes.l11()[i], expected.cholesky(0, 0), 1e-7);
    EXPECT_NEAR(planes.l21()[i], expected.cholesky(1, 0), 1e-7);
    EXPECT_NEAR(planes.l22()[i], expected.cholesky(1, 1), 1e-7);
    const Matrix<2> covariance = expected.Covariance();
    EXPECT_NEAR(covariance.determinant(), std::pow(1.7, 4) * tuples[i].Covariance().determinant(),
                1e-9 * covariance.determinant() + 1e-18);
  }
}

}  // namespace
}  // namespace tributary::estimate
