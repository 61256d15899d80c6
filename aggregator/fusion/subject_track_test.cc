#include "aggregator/fusion/subject_track.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

estimate::Gaussian<2> At(double x, double y, double deviation = 0.01) {
  estimate::Gaussian<2> measured;
  measured.mean = {x, y};
  measured.cholesky *= deviation;
  return measured;
}

TEST(SubjectTrackTest, LearnsTheVelocityOfASteadyWalk) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.01);
  SubjectTrack<2> track{estimate::SlotLength()};
  const double slot_s = estimate::SlotLength().seconds();
  for (int i = 0; i < 4000; ++i) {
    const double t = i * slot_s;
    track.Update(1000 + static_cast<estimate::Epoch>(i),
                 At(1.5 * t + noise(random), -0.5 * t + noise(random)));
  }
  // Steady state of a filter: velocity variance ≈ √2·q^(3/4)·(R·T)^(1/4) with R the measurement's variance
  // and T the slot: 0.03 m/s for the calm model, 0.19 m/s for manoeuvres, which get a share of the weight.
  EXPECT_NEAR(track.velocity()[0], 1.5, 0.28);
  EXPECT_NEAR(track.velocity()[1], -0.5, 0.28);
  EXPECT_LT((track.position() - estimate::Vector<2>(1.5 * 3999 * slot_s, -0.5 * 3999 * slot_s)).norm(), 0.01);
}

TEST(SubjectTrackTest, LeavesOutWhatIsNotNewer) {
  SubjectTrack<2> track{estimate::SlotLength()};
  EXPECT_TRUE(track.Update(100, At(0, 0)));
  EXPECT_TRUE(track.Update(110, At(1, 0)));
  const estimate::Vector<2> velocity = track.velocity();
  EXPECT_FALSE(track.Update(110, At(5, 5)));
  EXPECT_FALSE(track.Update(105, At(5, 5)));
  EXPECT_EQ(track.velocity(), velocity);
}

TEST(SubjectTrackTest, StartsAnewAfterAGapOrAStepBackOfTheClock) {
  SubjectTrack<2> track{estimate::SlotLength()};
  track.Update(1'000'000, At(0, 0));
  track.Update(1'000'010, At(1, 0));
  EXPECT_TRUE(track.Update(1'100'000, At(9, 9)));
  EXPECT_EQ(track.velocity(), estimate::Vector<2>::Zero());
  EXPECT_EQ(track.position(), estimate::Vector<2>(9, 9));
  EXPECT_TRUE(track.Update(1000, At(3, 3)));
  EXPECT_EQ(track.epoch(), 1000u);
}

// One measurement a second, in slots of a second: the normal interval is no gap, and no measurement is lost.
TEST(SubjectTrackTest, LearnsTheVelocityInLongSlots) {
  for (const double slot_ms : {1'000.0, 60'000.0}) {
    const estimate::SlotLength slot = *estimate::SlotLength::FromMs(slot_ms);
    SubjectTrack<2> track{slot};
    for (estimate::Epoch i = 0; i < 20; ++i) {
      EXPECT_TRUE(track.Update(1000 + i, At(1.5 * slot.seconds() * static_cast<double>(i), 0)));
    }
    // Measurements without error: only the start's error is left, and shrinks to 2 - √3 of itself each time.
    EXPECT_NEAR(track.velocity()[0], 1.5, 1e-3) << slot_ms;
    EXPECT_FALSE(track.Update(1010, At(0, 0))) << "a late slot, not a clock that was set back";
  }
}

TEST(SubjectTrackTest, NeverGivesNotANumber) {
  const double largest = std::numeric_limits<float>::max();
  SubjectTrack<2> track{estimate::SlotLength()};
  for (estimate::Epoch epoch = 1; epoch < 100; ++epoch) {
    const double sign = epoch % 2 == 0 ? 1 : -1;
    track.Update(epoch, At(sign * largest, sign, epoch % 3 == 0 ? 1e-38 : largest));
    ASSERT_TRUE(track.velocity().allFinite());
    ASSERT_TRUE(track.position().allFinite());
    ASSERT_LT(track.velocity().cwiseAbs().maxCoeff(), 1e7);
  }
}

class TrackedSiteTest : public FusionFixture {};

TEST_F(TrackedSiteTest, GivesVelocitiesAndLeavesThePositionsAsTheyWereFused) {
  site_.tuning.track = true;
  Start();
  for (estimate::Epoch epoch = kEpoch; epoch < kEpoch + 2000; ++epoch) {
    SetTime(epoch, 0);
    out_.Clear();
    OfferAll(Frame(epoch, {static_cast<float>(epoch - kEpoch) * 0.0005f}));
    ASSERT_EQ(out_.size(), 1u);
  }
  EXPECT_NEAR(out_[0].velocities[0], 1.0f, 0.02f);
  EXPECT_NEAR(out_[0].means[0], 0.9995f, 1e-6f);
}

TEST_F(TrackedSiteTest, TrackingCanBeSwitchedOff) {
  site_.tuning.track = true;
  Start();
  OfferAll(Frame(kEpoch, {1.0f}));
  EXPECT_EQ(out_[0].velocities, (std::vector<float>{0, 0}));
  FusionTuning tuning = site_.tuning;
  tuning.track = false;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  OfferAll(Frame(kEpoch + 1, {1.0f}));
  EXPECT_TRUE(out_[1].velocities.empty());
}

TEST_F(TrackedSiteTest, EverChangingSubjectsDoNotGrowIt) {
  site_.tuning.track = true;
  Start();
  for (estimate::Epoch epoch = kEpoch; epoch < kEpoch + 50; ++epoch) {
    SetTime(epoch, 0);
    estimate::TupleFrame frame = Frame(epoch, std::vector<float>(64, 1.0f));
    for (std::uint32_t& subject : frame.subjects) subject += static_cast<std::uint32_t>(epoch - kEpoch) * 64;
    OfferAll(frame);
  }
  EXPECT_EQ(out_.size(), 50u);
}

}  // namespace
}  // namespace tributary::fusion
