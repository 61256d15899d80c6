#include "cli/watch/node_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;

v1::ListNodesResponse OneNode(std::int64_t last_frame_unix_ns) {
  v1::ListNodesResponse response;
  v1::Node& node = *response.add_nodes();
  node.set_site("lab");
  node.set_name("north");
  node.set_last_frame_unix_ns(last_frame_unix_ns);
  return response;
}

TEST(NodeTablesTest, SaysHowLongAgoTheLastFrameCame) {
  EXPECT_THAT(NodesText(OneNode(kNowNs - 2'500'000'000), kNowNs), HasSubstr(" 2.5 s ago "));
  EXPECT_THAT(NodesText(OneNode(0), kNowNs), HasSubstr(" never "));
}

TEST(NodeTablesTest, ATimeThatTheAggregatorInventedOverflowsNothing) {
  EXPECT_THAT(NodesText(OneNode(std::numeric_limits<std::int64_t>::min()), kNowNs),
              HasSubstr(" 9223372036.9 s ago "));
}

TEST(NodeTablesTest, ShowsHowANodeIs) {
  v1::ListNodesResponse response = OneNode(0);
  EXPECT_EQ(ConditionsText(response, kNowNs), "") << "an older node says nothing";
  v1::Node& node = *response.mutable_nodes(0);
  node.set_certificate_expires_unix_ns(kNowNs + 30 * std::int64_t{86'400'000'000'000});
  v1::NodeStatus& status = *node.mutable_status();
  status.set_version("0.1.0");
  status.set_started_unix_ns(kNowNs - 90'000'000'000);
  status.set_held_frames(12);
  for (const double celsius : {45.0, 61.5}) {
    v1::Sensor& sensor = *status.add_sensors();
    sensor.set_kind(v1::SENSOR_KIND_TEMPERATURE);
    sensor.set_value(celsius);
  }
  status.add_problems("panel south has failed");
  const std::string text = ConditionsText(response, kNowNs);
  EXPECT_THAT(text, ::testing::StartsWith("\nNODE "));
  for (const char* shown :
       {"north 0.1.0", " 90 s ", " 12 ", " 61.5 C ", " 30 d ", " panel south has failed "}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  for (const auto& [check, finding] :
       {std::pair("disk", v1::CHECK_FINDING_OK), std::pair("clock", v1::CHECK_FINDING_WARNING)}) {
    v1::NodeCheck& line = *status.add_checks();
    line.set_check(check);
    line.set_finding(finding);
    line.set_found("as found");
  }
  EXPECT_THAT(ConditionsText(response, kNowNs), HasSubstr(" panel south has failed; clock: as found "));
  // Nothing that a node invents overflows.
  status.set_started_unix_ns(std::numeric_limits<std::int64_t>::min());
  status.mutable_sensors(0)->set_value(std::numeric_limits<double>::max());
  EXPECT_NE(ConditionsText(response, kNowNs), "");
}

TEST(NodeTablesTest, NoNodeMovesTheColumnsOfAnother) {
  v1::ListNodesResponse response = OneNode(kNowNs);
  v1::Node& odd = *response.add_nodes();
  odd.set_site("lab");
  odd.set_name("ю");
  odd.set_accepted_frames(std::numeric_limits<std::uint64_t>::max());
  odd.set_model_name(std::string(300, 'm'));
  for (int i = 0; i < 100; ++i) odd.add_sources("panel-" + std::to_string(i));
  response.mutable_nodes(0)->add_sources("south");
  const std::string text = NodesText(response, kNowNs);
  const std::size_t column = text.find("SOURCES");
  const std::size_t first = text.find("\nlab  north") + 1, second = text.find("\nlab  ю") + 1;
  EXPECT_EQ(text.find("south") - first, column) << text;
  // ю has two bytes, the ellipsis of the model three.
  EXPECT_EQ(text.find("panel-0") - second - 3, column) << text;
  EXPECT_THAT(text, ::testing::EndsWith("…\n")) << "the list of sources is cut, and says so";
}

TEST(NodeTablesTest, ListsWhatLearnsBehindAnEmptyLineIfAnythingDoes) {
  v1::ListNodesResponse response = OneNode(0);
  EXPECT_EQ(LearnersText(response), "");
  response.mutable_nodes(0)->add_learns()->set_connected(true);
  EXPECT_THAT(LearnersText(response), ::testing::StartsWith("\nNODE "));
  EXPECT_THAT(LearnersText(response), HasSubstr("\nnorth waits for one connected "));
}

}  // namespace
}  // namespace tributary::cli
