#include "node/checks/check_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tributary::checks {
namespace {

using ::testing::HasSubstr;

TEST(CheckReportTest, AWarningIsNoFault) {
  EXPECT_FALSE((CheckReport{{{"clock", Finding::kWarning, "off", "set it"}}}).has_fault());
  EXPECT_TRUE(
      (CheckReport{{{"a", Finding::kOk, "", ""}, {"b", Finding::kFault, "gone", "buy"}}}).has_fault());
}

TEST(CheckReportTest, PrintsEachFindingWithItsRemedy) {
  const CheckReport report{{{"disk", Finding::kFault, "full", "free some"}}};
  EXPECT_THAT(report.Text(), HasSubstr("fault    disk"));
  EXPECT_THAT(report.Text(), HasSubstr("→ free some"));
}

TEST(CheckReportTest, SaysTheSameInJson) {
  const CheckReport report{{{"disk", Finding::kFault, "full", "free some"}}};
  const nlohmann::json json = nlohmann::json::parse(report.Json());
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checks"][0]["finding"], "fault");
  EXPECT_EQ(json["checks"][0]["remedy"], "free some");
}

}  // namespace
}  // namespace tributary::checks
