#include "core/runtime/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace tributary::runtime {
namespace {

TEST(LogLimitTest, LetsABurstPassAndThenOneLineInEachInterval) {
  LogLimit limit(3, 10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Admit(1'000), "") << i;
  EXPECT_EQ(limit.Admit(1'000), std::nullopt);
  EXPECT_EQ(limit.Admit(1'009), std::nullopt);
  EXPECT_EQ(limit.Admit(1'010), "; 2 lines like this one were left out");
  EXPECT_EQ(limit.Admit(1'010), std::nullopt);
}

TEST(LogLimitTest, AllowsAWholeBurstAgainAfterAQuietTime) {
  LogLimit limit(3, 10);
  for (int i = 0; i < 5; ++i) limit.Admit(0);
  EXPECT_EQ(limit.Admit(30), "; 2 lines like this one were left out");
  EXPECT_EQ(limit.Admit(30), "");
  EXPECT_EQ(limit.Admit(30), "");
  EXPECT_EQ(limit.Admit(30), std::nullopt);
}

TEST(LogLimitTest, CountsASingleLineAsOne) {
  LogLimit limit(1, 10);
  for (int i = 0; i < 2; ++i) limit.Admit(0);
  EXPECT_EQ(limit.Admit(10), "; 1 line like this one was left out");
}

// A peer connects and leaves a thousand times a second.
TEST(LogLimitTest, TellsOfWhatItLeftOutThoughNoLineFollows) {
  LogLimit limit(1, 10);
  EXPECT_TRUE(limit.Admit(100).has_value());
  EXPECT_FALSE(limit.Admit(101).has_value());
  EXPECT_FALSE(limit.Admit(102).has_value());
  EXPECT_EQ(limit.TakeLeftOut(110), 0u) << "a line may follow";
  EXPECT_EQ(limit.TakeLeftOut(111), 2u);
  EXPECT_EQ(limit.TakeLeftOut(130), 0u) << "once";
  EXPECT_EQ(limit.Admit(130), "");
}

TEST(LogLimitTest, BoundsTheLinesOfAFlood) {
  LogLimit limit(8, 30'000);
  int lines = 0;
  for (std::int64_t ms = 0; ms < 3'600'000; ++ms) lines += limit.Admit(ms).has_value();
  EXPECT_EQ(lines, 8 + 119);
}

TEST(LogTest, LetsNoTerminalCodeOfAMessageThrough) {
  ASSERT_EQ(SetUpLog("info"), absl::OkStatus());
  ::testing::internal::CaptureStderr();
  spdlog::info("site \x1b[31m");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("site \\x1b[31m\n"));
}

}  // namespace
}  // namespace tributary::runtime
