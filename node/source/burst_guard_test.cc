#include "node/source/burst_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/clock.h"
#include "core/scene/gaussian_noise.h"
#include "node/source/udp_account.h"

namespace tributary::source {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

// Gives the frame of the test again and again.
class FixedSource final : public Source {
 public:
  absl::Status Next(std::stop_token, SensorFrame& frame) override {
    frame = next;
    return status;
  }
  std::uint64_t missed_frames() const override { return 11; }
  std::shared_ptr<const UdpAccount> udp_account() const override { return account; }

  SensorFrame next;
  absl::Status status;
  std::shared_ptr<UdpAccount> account = std::make_shared<UdpAccount>(7);
};

class BurstGuardTest : public testing::Test {
 protected:
  BurstGuardTest() {
    auto source = std::make_unique<FixedSource>();
    source_ = source.get();
    guard_ = GuardBursts(std::move(source), "south", clock_);
    source_->next.subjects = {4, 5, 6};
    source_->next.features.resize(3 * radio::kBurstFeatures);
    scene::FillGaussianNoise(1, 1, source_->next.features);
  }

  std::span<float> BurstOf(std::size_t row) {
    return std::span(source_->next.features).subspan(row * radio::kBurstFeatures, radio::kBurstFeatures);
  }

  runtime::ManualClock clock_{1'000'000};
  FixedSource* source_;
  std::unique_ptr<Source> guard_;
  SensorFrame frame_;
};

TEST_F(BurstGuardTest, ScalesEachBurstToPowerOne) {
  for (float& feature : BurstOf(1)) feature *= 1e-4f;
  ASSERT_TRUE(guard_->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, ElementsAre(4, 5, 6));
  for (std::size_t row = 0; row < 3; ++row) {
    double energy = 0;
    for (std::size_t k = 0; k < radio::kBurstFeatures; ++k) {
      const double feature = frame_.features[row * radio::kBurstFeatures + k];
      energy += feature * feature;
    }
    EXPECT_NEAR(energy / radio::kBurstSamples, 1, 1e-5);
  }
  EXPECT_THAT(guard_->unusable_bursts(), Optional(Each(0)));
}

TEST_F(BurstGuardTest, LeavesOutAndCountsWhatCannotBeUsedAndGoesOn) {
  BurstOf(0)[7] = std::numeric_limits<float>::quiet_NaN();
  std::ranges::fill(BurstOf(1), 0.0f);
  ASSERT_TRUE(guard_->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, ElementsAre(6));
  ASSERT_EQ(frame_.features.size(), radio::kBurstFeatures);
  EXPECT_NEAR(frame_.features[3] / frame_.features[4], BurstOf(2)[3] / BurstOf(2)[4], 1e-5);
  std::ranges::fill(BurstOf(2), -1.0f);  // saturated
  ASSERT_TRUE(guard_->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, IsEmpty());
  EXPECT_THAT(frame_.features, IsEmpty());
  EXPECT_THAT(guard_->unusable_bursts(), Optional(ElementsAre(2, 2, 1)));
}

TEST_F(BurstGuardTest, RefusesAnotherWidth) {
  source_->next.features.resize(3 * radio::kBurstFeatures - 1);
  const absl::Status status = guard_->Next({}, frame_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("767 features for 3 subjects"));
}

TEST_F(BurstGuardTest, HandsOnTheRest) {
  EXPECT_EQ(guard_->missed_frames(), 11u);
  EXPECT_EQ(guard_->udp_account(), source_->account);
  source_->status = absl::OutOfRangeError("end");
  EXPECT_EQ(guard_->Next({}, frame_).code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tributary::source
