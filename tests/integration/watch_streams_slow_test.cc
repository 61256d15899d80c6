// Four panels at 2,000 slots a second. One at a time is killed and comes back: how soon new readers see a
// slot, and how long any reader waits. Prints its figures; docs/performance.md has them.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "tests/integration/watch_streams.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

constexpr double kSlotDeadlineS = 0.050;  // of the site in fleet.cc
constexpr double kFirstS = 0.1;
constexpr double kGapS = kSlotDeadlineS + 0.1;
// Opening two hundred connections at one moment takes two cores a quarter of a second by itself.
constexpr double kOpeningS = 0.5;
constexpr int kStreams = 200;
constexpr double kSeconds = 60;

class WatchStreamsSlowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    for (const std::string& wall : kWalls) StartNode(wall);
    ASSERT_TRUE(WaitFor([this] {
      return MetricValue(aggregator_.Metrics(),
                         "tributary_slots_fused_total{end=\"complete\",site=\"room\"}") > 1000;
    })) << aggregator_.process().Log();
  }

  void StartNode(const std::string& wall) {
    nodes_[wall] =
        std::make_unique<NodeProcess>(folder_, wall, aggregator_.ingest_port(), "", PanelSettings{"", 2000});
  }

  // One panel is away for three quarters of a second, then all are there for as long, in turn.
  void KillAndReturn(const std::stop_token& stop) {
    const runtime::SystemClock clock;
    for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
      const std::string& wall = kWalls[turn % kWalls.size()];
      nodes_.erase(wall);  // SIGKILL
      clock.SleepFor(750'000'000, stop);
      StartNode(wall);
      clock.SleepFor(750'000'000, stop);
    }
  }

  static void Judge(const char* client, const WatchTimes& times, double most_first_s, double most_gap_s) {
    ASSERT_EQ(times.first_slot_s.size(), static_cast<std::size_t>(kStreams));
    std::printf("%s: %d fresh streams, first slot p99 %.1f ms, max %.1f ms, longest gap %.1f ms\n", client,
                kStreams, 1e3 * WatchTimes::P99(times.first_slot_s),
                1e3 * WatchTimes::Max(times.first_slot_s), 1e3 * WatchTimes::Max(times.longest_gap_s));
    EXPECT_LE(WatchTimes::P99(times.first_slot_s), most_first_s);
    EXPECT_LE(WatchTimes::Max(times.longest_gap_s), most_gap_s);
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", kWalls};
  std::map<std::string, std::unique_ptr<NodeProcess>> nodes_;
};

TEST_F(WatchStreamsSlowTest, FreshStreamsShowASlotAtOnceWhilePanelsDieAndReturn) {
  std::jthread deaths([this](const std::stop_token& stop) { KillAndReturn(stop); });
  // One after the other over a minute, two at a time.
  Judge("C++", WatchAfresh(aggregator_.ingest_port(), kStreams, 2, 2 * kSeconds / kStreams), kFirstS, kGapS);
}

TEST_F(WatchStreamsSlowTest, FreshStreamsOfPythonClientsLikewise) {
  std::jthread deaths([this](const std::stop_token& stop) { KillAndReturn(stop); });
  const auto times = WatchAfreshInPython(aggregator_.ingest_port(), kStreams, 2, 2 * kSeconds / kStreams,
                                         folder_.Path("times.json"), folder_.Path("python.log"));
  if (!times)
    GTEST_SKIP() << "needs python3-grpcio and python3-protobuf: " << ReadText(folder_.Path("python.log"));
  Judge("Python", *times, kFirstS, kGapS);
}

TEST_F(WatchStreamsSlowTest, NoReaderWaitsLongerThanADeadlineWithinAMinute) {
  std::jthread deaths([this](const std::stop_token& stop) { KillAndReturn(stop); });
  const WatchTimes times = WatchAfresh(aggregator_.ingest_port(), 4, 4, kSeconds);
  std::printf("4 readers of %.0f s: longest gap %.1f ms\n", kSeconds,
              1e3 * WatchTimes::Max(times.longest_gap_s));
  EXPECT_LE(WatchTimes::Max(times.longest_gap_s), kGapS);
}

// As many readers as slots: each gets a part of the slots, none stands still.
TEST_F(WatchStreamsSlowTest, TwoHundredReadersAtATimeShareTheAggregator) {
  std::jthread deaths([this](const std::stop_token& stop) { KillAndReturn(stop); });
  Judge("200 at a time", WatchAfresh(aggregator_.ingest_port(), kStreams, kStreams, kSeconds), kOpeningS,
        kOpeningS);
}

}  // namespace
}  // namespace tributary::testing
