#include "core/runtime/machine_sensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/own_folder.h"

namespace tributary::runtime {
namespace {

class MachineSensorsTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::vector<SensorReading> Read() const { return ReadMachineSensors(folder_.string()); }

  const std::filesystem::path folder_ =
      std::filesystem::path(OwnFolder()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MachineSensorsTest, ReadsTemperaturesAndPowersWithTheirNames) {
  Write("hwmon0/name", "coretemp\n");
  Write("hwmon0/temp1_input", "45500\n");
  Write("hwmon0/temp1_label", "Package id 0\n");
  Write("hwmon0/temp1_max", "90000\n");
  Write("hwmon1/name", "ina226\n");
  Write("hwmon1/power1_input", "2500000\n");
  const std::vector<SensorReading> readings = Read();
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].name, "coretemp Package id 0");
  EXPECT_EQ(readings[0].kind, SensorReading::Kind::kTemperature);
  EXPECT_DOUBLE_EQ(readings[0].value, 45.5);
  EXPECT_EQ(readings[1].name, "ina226 power1");
  EXPECT_EQ(readings[1].kind, SensorReading::Kind::kPower);
  EXPECT_DOUBLE_EQ(readings[1].value, 2.5);
}

TEST_F(MachineSensorsTest, LeavesOutWhatIsNoNumber) {
  Write("hwmon0/temp1_input", "");
  Write("hwmon0/temp2_input", "hot\n");
  Write("hwmon0/temp3_input", "99999999999999999999999\n");
  Write("hwmon0/temp4_input", std::string(1 << 20, '1'));
  Write("hwmon0/temp5_input/inside", "1\n");
  Write("hwmon0/temp6_input", "-5000\n");
  const std::vector<SensorReading> readings = Read();
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].name, "hwmon0 temp6");
  EXPECT_DOUBLE_EQ(readings[0].value, -5);
}

TEST_F(MachineSensorsTest, GivesNoMoreThanItSays) {
  for (int i = 0; i < 100; ++i) Write("hwmon0/temp" + std::to_string(i) + "_input", "1\n");
  EXPECT_EQ(Read().size(), kMostSensorReadings);
}

TEST(MachineSensorsOfNoMachineTest, AnAbsentFolderHasNone) {
  EXPECT_TRUE(ReadMachineSensors("/nonexistent/hwmon").empty());
}

}  // namespace
}  // namespace tributary::runtime
