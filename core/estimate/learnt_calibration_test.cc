#include "core/estimate/learnt_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tributary::estimate {
namespace {

using ::testing::HasSubstr;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

// Three sources around a hall; the second one claims too much and hangs 10 cm off.
class LearntCalibrationTest : public ::testing::Test {
 protected:
  static constexpr MountingPrior kPrior{.shift_m = 0.03, .turn_deg = 2};

  static SourceCalibration Fresh() {
    return SourceCalibration(kPrior, std::vector<Vector<2>>{{0, -5}, {5, 0}, {0, 5}});
  }

  // One second of looks at eight users each. The same `seed` gives the same users and errors.
  static void See(SourceCalibration& calibration, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> position(-4, 4);
    for (int look = 0; look < 80; ++look) {
      const Vector<2> user(position(random), position(random));
      std::vector<SourceCalibration::Observation> tuples;
      for (std::size_t i = 0; i < 3; ++i) {
        Gaussian<2> tuple{user + 0.02 * (i == 1 ? 2 : 1) * Vector<2>(normal(random), normal(random)),
                          0.02 * Matrix<2>::Identity()};
        if (i == 1) tuple.mean[0] += 0.1;
        tuples.push_back({i, calibration.state(i).correction.Apply(tuple)});
      }
      calibration.Forget(0.999);
      calibration.Observe(tuples);
    }
    calibration.Solve();
  }

  static LearntCalibration Learnt() {
    SourceCalibration calibration = Fresh();
    for (unsigned second = 0; second < 20; ++second) See(calibration, second);
    return calibration.learnt();
  }

  // What is said of numbers that `spoil` has changed.
  static std::string Refused(const std::function<void(LearntCalibration&)>& spoil) {
    LearntCalibration learnt = Learnt();
    spoil(learnt);
    SourceCalibration calibration = Fresh();
    const absl::Status status = calibration.Restore(std::move(learnt));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(calibration.state(1).correction.scale, 1) << "a refusal must change nothing";
    EXPECT_EQ(calibration.learnt().rhs.norm(), 0) << "a refusal must change nothing";
    return std::string(status.message());
  }
};

TEST_F(LearntCalibrationTest, AnotherCalibrationGoesOnToTheSameBits) {
  SourceCalibration first = Fresh(), second = Fresh();
  for (unsigned moment = 0; moment < 20; ++moment) See(first, moment);
  ASSERT_TRUE(second.Restore(first.learnt()).ok());
  for (unsigned moment = 20; moment < 40; ++moment) {
    See(first, moment);
    See(second, moment);
  }
  EXPECT_GT(first.state(1).correction.scale, 1.5) << "it has learnt something";
  EXPECT_LT(first.state(1).correction.shift[0], -0.05);
  for (std::size_t i = 0; i < 3; ++i) {
    const CalibrationState &a = first.state(i), &b = second.state(i);
    EXPECT_EQ(a.correction.scale, b.correction.scale);
    EXPECT_TRUE(a.correction.shift == b.correction.shift);
    EXPECT_EQ(a.correction.turn, b.correction.turn);
    EXPECT_TRUE(a.shift_deviation == b.shift_deviation);
    EXPECT_EQ(a.observations, b.observations);
  }
  EXPECT_TRUE(first.learnt().rhs == second.learnt().rhs);
}

TEST_F(LearntCalibrationTest, ReadsTheLowerTriangleOnly) {
  LearntCalibration learnt = Learnt();
  SourceCalibration whole = Fresh(), lower = Fresh();
  ASSERT_TRUE(whole.Restore(learnt).ok());
  learnt.normal.triangularView<Eigen::StrictlyUpper>().setConstant(kNoNumber);
  ASSERT_TRUE(lower.Restore(learnt).ok());
  whole.Solve();
  lower.Solve();
  EXPECT_NE(whole.state(1).correction.shift[0], 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(whole.state(i).correction.shift == lower.state(i).correction.shift);
    EXPECT_EQ(whole.state(i).correction.turn, lower.state(i).correction.turn);
  }
}

TEST_F(LearntCalibrationTest, ANewCalibrationIsSoundToo) {
  EXPECT_TRUE(FaultsOf(Fresh().learnt(), kPrior).Result().ok());
  EXPECT_TRUE(FaultsOf(SourceCalibration(kPrior, {}).learnt(), kPrior).Result().ok());
}

TEST_F(LearntCalibrationTest, RefusesNumbersThatNobodyLearns) {
  using Source = LearntCalibration::Source;
  struct Number {
    std::string key;
    std::function<double&(Source&)> of;
    std::vector<double> bad;
  };
  const std::vector<Number> numbers = {
      {"place_m", [](Source& s) -> double& { return s.state.correction.place[1]; }, {}},
      {"shift_m", [](Source& s) -> double& { return s.state.correction.shift[1]; }, {0.151, -0.151}},
      {"shift_deviation_m", [](Source& s) -> double& { return s.state.shift_deviation[0]; }, {-1e-9, 1}},
      {"turn_rad", [](Source& s) -> double& { return s.state.correction.turn; }, {0.18, -0.18}},
      {"turn_deviation_rad", [](Source& s) -> double& { return s.state.turn_deviation; }, {-1e-9, 1}},
      {"scale", [](Source& s) -> double& { return s.state.correction.scale; }, {0, 0.24, 30.1, -1}},
      {"agreed_scale", [](Source& s) -> double& { return s.agreed; }, {0, 0.24, 30.1, -1}},
      {"squares", [](Source& s) -> double& { return s.squares; }, {-1e-9, 1e13}},
      {"redundancy", [](Source& s) -> double& { return s.redundancy; }, {-1e-9, 1e13}},
      {"expected", [](Source& s) -> double& { return s.expected; }, {-1e-9, 1e13}},
      {"observations", [](Source& s) -> double& { return s.observations; }, {-1e-9, 1e13}},
      {"solved_observations", [](Source& s) -> double& { return s.state.observations; }, {-1e-9, 1e13}},
  };
  for (const Number& each : numbers) {
    std::vector<double> bad = {kNoNumber, kEndless, -kEndless, 1e300};
    bad.insert(bad.end(), each.bad.begin(), each.bad.end());
    for (const double value : bad) {
      EXPECT_THAT(Refused([&](LearntCalibration& learnt) { each.of(learnt.sources[2]) = value; }),
                  HasSubstr("source[2]." + each.key))
          << value;
    }
  }
}

TEST_F(LearntCalibrationTest, RefusesSumsThatAreNoSums) {
  for (const double bad : {kNoNumber, kEndless, 1e21, -1e21}) {
    EXPECT_THAT(Refused([&](LearntCalibration& learnt) { learnt.normal(4, 1) = bad; }), HasSubstr("normal"));
    EXPECT_THAT(Refused([&](LearntCalibration& learnt) { learnt.rhs[3] = bad; }), HasSubstr("rhs"));
  }
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.rhs[0] = 1e19; }),
              HasSubstr("row 0 pulls harder"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.normal(0, 0) = -1e6; }), HasSubstr("definite"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.normal *= -1; }), HasSubstr("definite"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.normal(4, 1) = 1e12; }), HasSubstr("definite"));
}

TEST_F(LearntCalibrationTest, RefusesOtherShapesAndPlaces) {
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.sources.resize(2); }), HasSubstr("normal"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.sources.resize(5'000); }),
              HasSubstr("at most 16"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.normal.resize(9, 8); }), HasSubstr("normal"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.rhs.resize(8); }), HasSubstr("rhs"));
  EXPECT_THAT(Refused([](LearntCalibration& learnt) { learnt.sources[1].state.correction.place[0] = 4; }),
              HasSubstr("source[1].place_m: is another place"));
  const auto fewer = [](LearntCalibration& learnt) {
    learnt = SourceCalibration(kPrior, std::vector<Vector<2>>{{0, -5}, {5, 0}}).learnt();
  };
  EXPECT_THAT(Refused(fewer), HasSubstr("expected 3 sources, found 2"));
}

// Sums at the largest values that are admitted: the corrections stay within their bounds, and it forgets.
TEST_F(LearntCalibrationTest, ForgetsTheLargestSumsThatAreAdmitted) {
  LearntCalibration learnt = Learnt();
  learnt.normal = 1e20 * Eigen::MatrixXd::Identity(9, 9);
  learnt.rhs.setConstant(-1e16);
  for (LearntCalibration::Source& source : learnt.sources) source.squares = source.redundancy = 1e12;
  SourceCalibration calibration = Fresh();
  ASSERT_TRUE(calibration.Restore(std::move(learnt)).ok());
  calibration.Forget(1e-25);
  for (unsigned second = 0; second < 30; ++second) See(calibration, second);
  EXPECT_NEAR(calibration.state(1).correction.scale, 2, 0.5);
  EXPECT_NEAR(calibration.state(0).correction.shift[0] - calibration.state(1).correction.shift[0], 0.1, 0.02);
}

}  // namespace
}  // namespace tributary::estimate
