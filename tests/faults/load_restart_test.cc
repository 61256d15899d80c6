// `tributary load` against an aggregator that goes away or stops meanwhile: whatever happens, the load ends
// in time, and its report has every slot.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

// Two panels of two users at 100 slots a second for eight seconds, in a site of theirs.
class LoadRestartTest : public ::testing::Test {
 protected:
  LoadRestartTest() {
    aggregator_.Start();
    EXPECT_TRUE(aggregator_.Ready());
  }

  void Begin() {
    load_ = std::make_unique<Process>(
        "/bin/sh",
        std::vector<std::string>{
            "-c", "exec " + std::string(TRIBUTARY_BIN_DIR) +
                      "/tributary load --aggregator 127.0.0.1:" + std::to_string(aggregator_.ingest_port()) +
                      " --http 127.0.0.1:" + std::to_string(aggregator_.http_port()) +
                      " --site room --panels 2 --users 2 --rate 100 --seconds 8 --json > " + report_},
        folder_.Path("load.log"));
    const std::string fused = "tributary_tuples_fused_total{site=\"room\"}";
    EXPECT_TRUE(WaitFor([&] { return MetricValue(aggregator_.Metrics(), fused) > 100; })) << load_->Log();
  }

  // Reads the report once the load has ended.
  void ExpectExitStatus(int status) {
    EXPECT_EQ(load_->Wait(std::chrono::seconds(60)), status) << load_->Log();
    json_ = nlohmann::json::parse(ReadText(report_), nullptr, false);
    ASSERT_FALSE(json_.is_discarded()) << load_->Log();
    EXPECT_EQ(Count("lost"), Count("lost_frames") + Count("lost_slots") + Count("unsent_slots"));
    EXPECT_EQ(Count("lost_frames"),
              Count("sent_frames") - Count("acknowledged_frames") + Count("refused_frames"));
  }

  std::uint64_t Count(const char* key) const { return json_[key].get<std::uint64_t>(); }

  const ScratchFolder folder_;
  const std::string report_ = folder_.Path("report.json");
  AggregatorProcess aggregator_{folder_, "aggregator", {"panel-0", "panel-1"}};
  std::unique_ptr<Process> load_;
  nlohmann::json json_;
};

TEST_F(LoadRestartTest, AccountsForWhatTheRestartOfAnAggregatorLoses) {
  Begin();
  aggregator_.process().Signal(SIGKILL);
  aggregator_.process().Wait(std::chrono::seconds(10));
  aggregator_.Start();
  ASSERT_NO_FATAL_FAILURE(ExpectExitStatus(1)) << "something was lost";
  EXPECT_GE(Count("reconnections"), 1u);
  EXPECT_GT(Count("unsent_slots"), 0u);
  // Each slot was sent, or was due while nobody was there.
  EXPECT_EQ(Count("sent_slots") + Count("unsent_slots"), 800u);
  EXPECT_GT(Count("received_slots"), 100u) << "and it goes on afterwards";
}

TEST_F(LoadRestartTest, AccountsForAllIfTheAggregatorStaysAway) {
  Begin();
  aggregator_.process().Signal(SIGKILL);
  ASSERT_NO_FATAL_FAILURE(ExpectExitStatus(69));
  EXPECT_GT(Count("sent_slots"), 0u);
  EXPECT_GT(Count("unsent_slots"), 0u);
  EXPECT_EQ(Count("sent_slots") + Count("unsent_slots"), 800u);
  EXPECT_NE(load_->Log().find("nobody listens"), std::string::npos) << load_->Log();
}

TEST_F(LoadRestartTest, EndsAlthoughTheAggregatorNoLongerAnswers) {
  Begin();
  aggregator_.process().Signal(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(ExpectExitStatus(1));
  EXPECT_EQ(Count("sent_slots"), 800u);
  EXPECT_GT(Count("lost_frames"), 0u);
}

TEST_F(LoadRestartTest, AccountsForWhatItSentIfItIsStopped) {
  Begin();
  load_->Signal(SIGINT);
  const int status = load_->Wait(std::chrono::seconds(60));
  ASSERT_NO_FATAL_FAILURE(ExpectExitStatus(status));
  EXPECT_EQ(status, Count("lost") == 0 ? 0 : 1) << load_->Log();
  EXPECT_GT(Count("sent_slots"), 0u);
  EXPECT_LT(Count("sent_slots"), 800u);
}

}  // namespace
}  // namespace tributary::testing
