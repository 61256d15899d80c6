#include "core/wire/node_status.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tributary::wire {
namespace {

TEST(NodeStatusTest, KeepsWhatANodeSays) {
  v1::NodeStatus said;
  said.set_version("0.4.0 (abcdef)");
  said.set_started_unix_ns(7);
  said.set_offered_frames(10);
  said.set_held_frames(2);
  said.set_held_bytes(300);
  said.set_xclbin_uuid("c0ffee00-0000-4000-8000-000000000000");
  said.set_last_error("panel south: the board is gone");
  said.set_last_error_unix_ns(8);
  said.add_problems("the board is not there");
  v1::Sensor& sensor = *said.add_sensors();
  sensor.set_name("coretemp Package id 0");
  sensor.set_kind(v1::SENSOR_KIND_TEMPERATURE);
  sensor.set_value(45.5);
  v1::NodeCheck& check = *said.add_checks();
  check.set_check("clock");
  check.set_finding(v1::CHECK_FINDING_WARNING);
  check.set_found("not synchronised");
  check.set_remedy("Run chrony");
  said.set_checked_unix_ns(9);
  EXPECT_EQ(BoundedStatus(said).SerializeAsString(), said.SerializeAsString());
}

TEST(NodeStatusTest, BoundsNumbersAndTextsOfAHostileOne) {
  v1::NodeStatus said;
  said.set_version(std::string(1 << 20, 'v'));
  said.set_offered_frames(UINT64_MAX);
  said.set_held_frames(UINT64_MAX);
  said.set_held_bytes(UINT64_MAX);
  said.set_last_error("a\nb\x1b[2J\xff");
  // 255 letters, then one of two bytes.
  said.set_xclbin_uuid(std::string(kMostStatusText - 1, 'x') + "\xc3\xa4");
  for (int i = 0; i < 1000; ++i) {
    said.add_problems("p");
    v1::NodeCheck& check = *said.add_checks();
    check.set_check("\x1b[31mclock\n");
    check.set_finding(static_cast<v1::CheckFinding>(-5));
    check.set_found(std::string(5000, 'f'));
    check.set_remedy("\xff" + std::string(5000, 'r'));
    v1::Sensor& sensor = *said.add_sensors();
    sensor.set_value(i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : i);
    sensor.set_kind(static_cast<v1::SensorKind>(77));
  }
  const v1::NodeStatus kept = BoundedStatus(said);
  EXPECT_EQ(kept.version().size(), kMostStatusText);
  EXPECT_EQ(kept.offered_frames(), kMostStatusCount);
  EXPECT_EQ(kept.held_frames(), kMostStatusCount);
  EXPECT_EQ(kept.held_bytes(), kMostStatusCount);
  EXPECT_EQ(kept.last_error().find('\n'), std::string::npos);
  EXPECT_EQ(kept.last_error().find('\x1b'), std::string::npos);
  EXPECT_LE(kept.xclbin_uuid().size(), kMostStatusText);
  EXPECT_EQ(kept.problems_size(), static_cast<int>(kMostProblems));
  ASSERT_EQ(kept.checks_size(), static_cast<int>(kMostChecks));
  for (const v1::NodeCheck& check : kept.checks()) {
    EXPECT_EQ(check.check().find_first_of("\x1b\n"), std::string::npos);
    EXPECT_EQ(check.finding(), v1::CHECK_FINDING_UNSPECIFIED);
    EXPECT_LE(check.found().size(), kMostStatusText);
    EXPECT_LE(check.remedy().size(), kMostStatusText);
  }
  ASSERT_EQ(kept.sensors_size(), static_cast<int>(kMostSensors));
  EXPECT_EQ(kept.sensors(0).value(), 1);
  EXPECT_EQ(kept.sensors(0).kind(), v1::SENSOR_KIND_UNSPECIFIED);
}

}  // namespace
}  // namespace tributary::wire
