// SIGHUP of a running aggregator applies what can change; a faulty file changes nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

class ReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  bool Logged(const std::string& text) {
    return WaitFor([&] { return aggregator_.process().Log().find(text) != std::string::npos; });
  }

  // Replaces text in the aggregator's configuration file and tells it.
  void Change(const std::string& from, const std::string& to) {
    std::string config = ReadText(folder_.Path("aggregator.toml"));
    const std::size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos);
    folder_.Write("aggregator.toml", config.replace(at, from.size(), to));
    aggregator_.process().Signal(SIGHUP);
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south", "east"}, "", "late = \"count\""};
};

TEST_F(ReloadTest, TakesTheNewDeadlineWithoutLosingAStream) {
  Change("deadline_ms = 50.0", "deadline_ms = 60000.0");
  ASSERT_TRUE(Logged("reload: took log_level"));
  const Collector fused(aggregator_.ingest_port());
  Reporter south("south", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return south.Reporting(); }));
  const estimate::Epoch epoch = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs());
  south.Offer(UnitFrame(epoch));
  ASSERT_TRUE(WaitFor([&] {
    return MetricValue(aggregator_.Metrics(), "tributary_frames_accepted_total{site=\"room\"}") == 1;
  })) << aggregator_.Metrics();

  EXPECT_TRUE(fused.slots().empty()) << "it waits for its minute";

  Change("deadline_ms = 60000.0", "deadline_ms = 1.0");
  EXPECT_TRUE(WaitFor([&] { return fused.Has(epoch, 0b01); })) << "an open slot takes the new deadline too";
  EXPECT_TRUE(south.Reporting());
}

TEST_F(ReloadTest, RefusesAWrongFileAndGoesOn) {
  Change("deadline_ms = 50.0", "deadline_ms = -1.0\nno_such_key = 1");
  ASSERT_TRUE(Logged("reload refused"));
  const std::string log = aggregator_.process().Log();
  EXPECT_NE(log.find("deadline_ms"), std::string::npos) << log;
  EXPECT_NE(log.find("no_such_key"), std::string::npos) << "every fault at once: " << log;
  EXPECT_FALSE(aggregator_.Get("/healthz").empty());
}

TEST_F(ReloadTest, SaysWhatNeedsARestart) {
  Change("sources = [\"south\", \"east\"]", "sources = [\"south\", \"west\"]");
  EXPECT_TRUE(Logged("reload: restart to apply site[0].sources"));
}

}  // namespace
}  // namespace tributary::testing
