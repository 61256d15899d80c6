#include "core/link/uplink_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/runtime/captured_log.h"

namespace tributary::link {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

class UplinkLogTest : public ::testing::Test {
 protected:
  const runtime::CapturedLog log_;
  UplinkLog uplink_{"hub:7400 as north", "the spool is full"};
};

TEST_F(UplinkLogTest, SaysTheFirstDropAtOnceAndTheOthersEveryTenSeconds) {
  uplink_.Dropped(0, kSecondNs);
  EXPECT_EQ(log_.lines(), 0);
  uplink_.Dropped(1, 2 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("hub:7400 as north: 1 frame dropped: the spool is full"));
  uplink_.Dropped(700, 3 * kSecondNs);
  uplink_.Dropped(2'001, 11 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1) << log_.text();
  uplink_.Dropped(4'001, 12 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("4000 frames dropped, 4001 in all: the spool is full"));
  uplink_.Dropped(4'001, 60 * kSecondNs);
  EXPECT_EQ(log_.lines(), 2) << "no more";
  uplink_.Dropped(4'002, 61 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("1 frame dropped, 4002 in all"));
}

TEST_F(UplinkLogTest, SaysTheEndOfAStreamAtOnceAndAttemptsInVainEveryTenSeconds) {
  const absl::Status why = absl::UnavailableError("nobody listens");
  uplink_.Lost(why, true, 3, kSecondNs);
  uplink_.Lost(why, false, 4, 2 * kSecondNs);
  EXPECT_EQ(log_.lines(), 1) << log_.text();
  uplink_.Lost(why, true, 5, 3 * kSecondNs);
  EXPECT_THAT(log_.text(), HasSubstr("5 frames held, retrying"));
  uplink_.Lost(why, false, 6, 13 * kSecondNs);
  EXPECT_EQ(log_.lines(), 3) << log_.text();
}

}  // namespace
}  // namespace tributary::link
