#include "core/estimate/motion_track.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace tributary::estimate {
namespace {

constexpr double kStepS = 0.02;
constexpr double kDeviationM = 0.05;

struct Course {
  Vector<2> position = Vector<2>::Zero();
  double heading = 0.0;
  // 1 m/s; straight for 4 s, then a turn of 90° per second for 2 s.
  bool Turns(int i) const { return i % 300 >= 200; }
  void Step(int i) {
    if (Turns(i)) heading += kStepS * 1.57;
    position += kStepS * Vector<2>(std::cos(heading), std::sin(heading));
  }
};

struct Judged {
  double raw = 0, straight = 0, turn = 0, nees = 0, raw_straight = 0, raw_turn = 0;
  int straights = 0, turns = 0;
};

// The measurement's error has a part that lasts, with this share of the variance and time constant.
Judged Follow(const MotionModel& model, double share, double lasting_s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Course course;
  MotionTrack<2> track(model);
  Vector<2> lasting = Vector<2>::Zero();
  Judged judged;
  for (int i = 0; i < 9000; ++i) {
    course.Step(i);
    const double kept = std::exp(-kStepS / lasting_s);
    for (int k = 0; k < 2; ++k) {
      const double fresh =
          std::sqrt(i == 0 ? share : share * (1 - kept * kept)) * kDeviationM * normal(random);
      lasting[k] = (i == 0 ? 0.0 : kept * lasting[k]) + fresh;
    }
    Vector<2> error = lasting;
    for (int k = 0; k < 2; ++k) error[k] += std::sqrt(1 - share) * kDeviationM * normal(random);
    const Gaussian<2> measured{course.position + error, kDeviationM * Matrix<2>::Identity()};
    if (i == 0) {
      track.Start(measured);
    } else {
      track.Update(kStepS, measured);
    }
    const double raw = error.squaredNorm(), tracked = (track.Position().mean - course.position).squaredNorm();
    judged.nees += track.Position().SquaredDistance(course.position) / 9000;
    (course.Turns(i) ? judged.turn : judged.straight) += tracked;
    (course.Turns(i) ? judged.raw_turn : judged.raw_straight) += raw;
  }
  return judged;
}

TEST(MotionTrackTest, BeatsTheMeasurementsInTurnsAndOnStraights) {
  const Judged judged = Follow({}, 0.0, 1.0, 1);
  EXPECT_LT(judged.straight, 0.2 * judged.raw_straight);
  EXPECT_LT(judged.turn, 0.4 * judged.raw_turn);
  EXPECT_GT(judged.nees, 1.0);
  EXPECT_LT(judged.nees, 2.7);
}

TEST(MotionTrackTest, IsHonestAboutErrorsThatLast) {
  const MotionModel lasting{.lasting_share = 0.75, .lasting_s = 1.5};
  const Judged judged = Follow(lasting, 0.75, 1.5, 2);
  EXPECT_LT(judged.straight, judged.raw_straight);
  EXPECT_LT(judged.turn, judged.raw_turn);
  EXPECT_GT(judged.nees, 1.2);
  EXPECT_LT(judged.nees, 2.7);
  // Who takes such errors for fresh ones is not.
  EXPECT_GT(Follow({}, 0.75, 1.5, 2).nees, 5.0);
}

TEST(MotionTrackTest, TellsManoeuvresFromStraights) {
  MotionTrack<2> track({});
  const auto measured = [](double x, double y) {
    return Gaussian<2>{Vector<2>(x, y), 0.01 * Matrix<2>::Identity()};
  };
  track.Start(measured(0, 0));
  for (int i = 1; i < 200; ++i) track.Update(kStepS, measured(kStepS * i, 0));
  EXPECT_LT(track.manoeuvre(), 0.4);
  EXPECT_NEAR(track.Velocity()[0], 1.0, 0.05);
  double most = 0.0;
  for (int i = 1; i < 20; ++i) {
    track.Update(kStepS, measured(kStepS * 200, kStepS * i));
    most = std::max(most, track.manoeuvre());
  }
  EXPECT_GT(most, 0.8);
}

// Measurements of a micrometre and of a kilometre take turns at random: what is subtracted from the
// covariance is a million million times what is left of it.
TEST(MotionTrackTest, StaysPositiveFromVagueToExactMeasurements) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-6.0, 3.0), step_exponent(-4.0, 1.0);
  std::normal_distribution<double> normal;
  for (const double lasting_share : {0.0, 0.75}) {
    MotionTrack<3> track({.lasting_share = lasting_share});
    track.Start({Vector<3>::Zero(), Matrix<3>::Identity()});
    for (int i = 0; i < 20'000; ++i) {
      Gaussian<3> measured;
      for (int row = 0; row < 3; ++row) {
        measured.cholesky(row, row) = std::pow(10.0, exponent(random));
        measured.mean[row] = measured.cholesky(row, row) * normal(random);
      }
      track.Update(std::pow(10.0, step_exponent(random)), measured);
      ASSERT_TRUE(Validate(track.Position()).ok()) << i << ": " << Validate(track.Position());
    }
  }
}

}  // namespace
}  // namespace tributary::estimate
