#include "node/self_report.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/runtime/log.h"
#include "core/runtime/version.h"
#include "tests/support/own_folder.h"

namespace tributary::node {
namespace {

TEST(SelfReportTest, SaysWhoItIsHowItIsAndWhatWentWrong) {
  const std::filesystem::path chip = std::filesystem::path(OwnFolder()) / "hwmon/hwmon0";
  std::filesystem::create_directories(chip);
  std::ofstream(chip / "name") << "board\n";
  std::ofstream(chip / "temp1_input") << "61000\n";
  std::ofstream(chip / "power1_input") << "7500000\n";
  ASSERT_TRUE(runtime::SetUpLog("info").ok());
  spdlog::error("panel south has failed");
  spdlog::warn("and this is only a warning");
  const v1::NodeStatus status =
      SelfReport({.started_unix_ns = 5, .xclbin_uuid = "u", .problems = {"panel south has failed"}},
                 chip.parent_path().string());
  EXPECT_EQ(status.version(), runtime::kVersion);
  EXPECT_EQ(status.started_unix_ns(), 5);
  EXPECT_EQ(status.xclbin_uuid(), "u");
  ASSERT_EQ(status.sensors_size(), 2);
  EXPECT_EQ(status.sensors(0).kind(), v1::SENSOR_KIND_POWER);
  EXPECT_DOUBLE_EQ(status.sensors(0).value(), 7.5);
  EXPECT_EQ(status.sensors(1).name(), "board temp1");
  EXPECT_DOUBLE_EQ(status.sensors(1).value(), 61);
  EXPECT_EQ(status.last_error(), "panel south has failed");
  EXPECT_GT(status.last_error_unix_ns(), 0);
  ASSERT_EQ(status.problems_size(), 1);
}

}  // namespace
}  // namespace tributary::node
