#include "cli/watch/node_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

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

TEST(NodeTablesTest, ListsWhatLearnsBehindAnEmptyLineIfAnythingDoes) {
  v1::ListNodesResponse response = OneNode(0);
  EXPECT_EQ(LearnersText(response), "");
  response.mutable_nodes(0)->add_learns()->set_connected(true);
  EXPECT_THAT(LearnersText(response), ::testing::StartsWith("\nNODE "));
  EXPECT_THAT(LearnersText(response), HasSubstr("\nnorth waits for one connected "));
}

}  // namespace
}  // namespace tributary::cli
