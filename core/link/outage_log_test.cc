#include "core/link/outage_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "core/runtime/captured_log.h"

namespace tributary::link {
namespace {

using ::testing::HasSubstr;

class OutageLogTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSecondNs = 1'000'000'000;

  void Lost(const std::string& why) { outages_.Lost(absl::UnavailableError(why), now_ns_); }
  void Pass(std::int64_t seconds) { now_ns_ += seconds * kSecondNs; }
  std::ptrdiff_t Lines() const { return log_.lines(); }

  const runtime::CapturedLog log_;
  std::int64_t now_ns_ = 1'000 * kSecondNs;
  OutageLog outages_{"no tasks", "tasks again"};
};

TEST_F(OutageLogTest, SaysANewReasonAtOnceAndTheSameOneAfterTenSeconds) {
  Lost("nobody listens");
  Lost("nobody listens");
  EXPECT_EQ(Lines(), 1);
  Lost("the certificate is revoked");
  EXPECT_EQ(Lines(), 2);
  EXPECT_THAT(log_.text(), HasSubstr("no tasks: UNAVAILABLE: the certificate is revoked; retrying"));
  Pass(9);
  Lost("the certificate is revoked");
  EXPECT_EQ(Lines(), 2);
  Pass(1);
  Lost("the certificate is revoked");
  EXPECT_EQ(Lines(), 3);
}

TEST_F(OutageLogTest, SaysTheEndOfAnOutageOnce) {
  outages_.Found();
  EXPECT_EQ(Lines(), 0) << "nothing was lost";
  Lost("nobody listens");
  outages_.Found();
  outages_.Found();
  EXPECT_EQ(Lines(), 2);
  EXPECT_THAT(log_.text(), HasSubstr("tasks again"));
}

TEST_F(OutageLogTest, SaysALinkThatComesAndGoesEveryTwentySeconds) {
  for (int second = 0; second < 40; ++second) {
    Lost("the aggregator ended the stream");
    outages_.Found();
    Pass(1);
  }
  EXPECT_EQ(Lines(), 4) << log_.text();
}

TEST_F(OutageLogTest, APeerWithANewReasonEachTimeDoesNotFillTheLog) {
  for (int i = 0; i < 1'000; ++i) {
    Lost("reason " + std::to_string(i));
    outages_.Found();
  }
  EXPECT_EQ(Lines(), 6) << "three outages and their ends";
  Pass(10);
  Lost("the last reason");
  EXPECT_THAT(log_.text(), HasSubstr("the last reason; retrying; 997 lines like this one were left out"));
}

}  // namespace
}  // namespace tributary::link
