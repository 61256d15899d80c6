#include "cli/doctor/doctor_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tributary::cli {
namespace {

using testing::HasSubstr;

TEST(DoctorReportTest, AWarningIsNoFault) {
  EXPECT_FALSE((DoctorReport{{{"clock", Finding::kWarning, "off", "set it"}}}).has_fault());
  EXPECT_TRUE(
      (DoctorReport{{{"a", Finding::kOk, "", ""}, {"b", Finding::kFault, "gone", "buy"}}}).has_fault());
}

TEST(DoctorReportTest, PrintsEachFindingWithItsRemedy) {
  const DoctorReport report{{{"disk", Finding::kFault, "full", "free some"}}};
  EXPECT_THAT(report.Text(), HasSubstr("fault    disk"));
  EXPECT_THAT(report.Text(), HasSubstr("→ free some"));
}

TEST(DoctorReportTest, SaysTheSameInJson) {
  const DoctorReport report{{{"disk", Finding::kFault, "full", "free some"}}};
  const nlohmann::json json = nlohmann::json::parse(report.Json());
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checks"][0]["finding"], "fault");
  EXPECT_EQ(json["checks"][0]["remedy"], "free some");
}

}  // namespace
}  // namespace tributary::cli
