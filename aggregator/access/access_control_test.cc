#include "aggregator/access/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/runtime/captured_log.h"

namespace tributary::access {
namespace {

using ::testing::HasSubstr;

class AccessControlTest : public ::testing::Test {
 protected:
  const runtime::CapturedLog log_;
  runtime::ManualClock clock_{1'000'000'000'000};
  AccessControl control_{
      AccessPolicy(
          AccessLists{.nodes = {}, .children = {}, .viewers = {"wall"}, .operators = {}, .refused = {}}, {}),
      clock_};
};

// Somebody with a certificate and without a role asked some thousand times a second.
TEST_F(AccessControlTest, WritesTwentyLinesOfRefusedCallsAtOnceAndThenOneASecond) {
  for (int i = 0; i < 5'000; ++i) {
    EXPECT_TRUE(
        absl::IsPermissionDenied(control_.Admit("/tributary.v1.FleetService/ListNodes", Peer{"thief"})));
  }
  EXPECT_EQ(log_.lines(), 20);
  clock_.Advance(1'000'000'000);
  EXPECT_FALSE(control_.Admit("/tributary.v1.FleetService/ListNodes", Peer{"thief"}).ok());
  EXPECT_FALSE(control_.Admit("/tributary.v1.FleetService/ListNodes", Peer{"thief"}).ok());
  EXPECT_EQ(log_.lines(), 21);
  EXPECT_THAT(log_.text(), HasSubstr("thief"));
  EXPECT_THAT(log_.text(), HasSubstr("4980 lines like this one were left out"));
}

TEST_F(AccessControlTest, CountsAndLogsANodeThatClaimsToBeAChild) {
  control_.set_policy(AccessPolicy(
      AccessLists{.nodes = {"panel"}, .children = {"hub"}, .viewers = {}, .operators = {}, .refused = {}},
      {}));
  EXPECT_TRUE(control_.AdmitChild(Peer{"hub"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(control_.AdmitChild(Peer{"panel"})));
  EXPECT_THAT(log_.text(), HasSubstr("\"panel\" may not send partial sums"));
  EXPECT_EQ(log_.lines(), 1);
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { control_.Collect(reading); });
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_calls_refused_total{reason=\"role\"} 1"));
}

TEST_F(AccessControlTest, CountsAndLogsWhoSpeaksForAnotherNode) {
  EXPECT_TRUE(control_.AdmitAs("panel", Peer{"panel"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(control_.AdmitAs("hub\x1b[2J", Peer{"panel"})));
  EXPECT_THAT(log_.text(), HasSubstr("\"hub\\x1b[2J\" calls with the certificate of \"panel\""));
  EXPECT_EQ(log_.lines(), 1);
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { control_.Collect(reading); });
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_calls_refused_total{reason=\"identity\"} 1"));
}

TEST_F(AccessControlTest, CountsEveryRefusalByItsReasonAndNoAdmission) {
  EXPECT_TRUE(control_.Admit(kWatchPath, Peer{"wall"}).ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(control_.Admit(kWatchPath, Peer{"thief"}).ok());
  EXPECT_FALSE(control_.Admit(kWatchPath, Peer{""}).ok());
  EXPECT_FALSE(control_.Admit("/tributary.v1.FusionService/Erase", Peer{"wall"}).ok());
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { control_.Collect(reading); });
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("tributary_calls_refused_total{reason=\"role\"} 3"));
  EXPECT_THAT(text, HasSubstr("tributary_calls_refused_total{reason=\"nameless\"} 1"));
  EXPECT_THAT(text, HasSubstr("tributary_calls_refused_total{reason=\"unknown_call\"} 1"));
}

}  // namespace
}  // namespace tributary::access
