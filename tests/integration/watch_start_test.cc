// A stream of fused slots begins at once, even if every slot is incomplete and slots leave in bursts.
#include <gtest/gtest.h>

#include "tests/integration/watch_streams.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

// A frozen stream stands still until a keepalive: two seconds for this project's clients, ten for others.
// Half of the shorter time tells the two apart on any machine.
constexpr double kFrozenS = 1;
constexpr double kReadS = 0.3;

class WatchStartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    for (const char* wall : {"south", "east"}) {
      nodes_.push_back(std::make_unique<NodeProcess>(folder_, wall, aggregator_.ingest_port(), "",
                                                     PanelSettings{"", 1000}));
    }
    ASSERT_TRUE(WaitFor([this] {
      return MetricValue(aggregator_.Metrics(),
                         "tributary_slots_fused_total{end=\"deadline\",site=\"room\"}") > 0;
    })) << aggregator_.process().Log();
  }

  static void ExpectNoneFrozen(const WatchTimes& times, std::size_t streams) {
    ASSERT_EQ(times.first_slot_s.size(), streams);
    EXPECT_LT(WatchTimes::Max(times.first_slot_s), kFrozenS);
    EXPECT_LT(WatchTimes::Max(times.longest_gap_s), kFrozenS);
  }

  ScratchFolder folder_;
  // The third panel never reports: slots are fused at their deadline, several at a time.
  AggregatorProcess aggregator_{folder_, "aggregator", {"south", "east", "north"}};
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
};

TEST_F(WatchStartTest, NoFreshStreamFreezes) {
  ExpectNoneFrozen(WatchAfresh(aggregator_.ingest_port(), 24, 4, kReadS), 24);
}

TEST_F(WatchStartTest, NoFreshStreamOfAPythonClientFreezes) {
  const auto times = WatchAfreshInPython(aggregator_.ingest_port(), 12, 2, kReadS, folder_.Path("times.json"),
                                         folder_.Path("python.log"));
  if (!times)
    GTEST_SKIP() << "needs python3-grpcio and python3-protobuf: " << ReadText(folder_.Path("python.log"));
  ExpectNoneFrozen(*times, 12);
}

}  // namespace
}  // namespace tributary::testing
