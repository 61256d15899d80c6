// `tributary load` against an aggregator that is killed and started again meanwhile.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

TEST(LoadRestartTest, AccountsForWhatTheRestartOfAnAggregatorLoses) {
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"panel-0", "panel-1"});
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready());
  const std::string report = folder.Path("report.json");
  Process load("/bin/sh",
               {"-c", std::string(TRIBUTARY_BIN_DIR) + "/tributary load --aggregator 127.0.0.1:" +
                          std::to_string(aggregator.ingest_port()) +
                          " --http 127.0.0.1:" + std::to_string(aggregator.http_port()) +
                          " --site room --panels 2 --users 2 --rate 100 --seconds 8 --json > " + report},
               folder.Path("load.log"));
  const std::string fused = "tributary_tuples_fused_total{site=\"room\"}";
  ASSERT_TRUE(WaitFor([&] { return MetricValue(aggregator.Metrics(), fused) > 100; })) << load.Log();
  aggregator.process().Signal(SIGKILL);
  aggregator.process().Wait(std::chrono::seconds(10));
  aggregator.Start();
  EXPECT_EQ(load.Wait(std::chrono::seconds(60)), 1) << "something was lost: " << load.Log();
  const auto json = nlohmann::json::parse(ReadText(report), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << load.Log();
  const auto count = [&json](const char* key) { return json[key].get<std::uint64_t>(); };
  EXPECT_GE(count("reconnections"), 1u);
  EXPECT_GT(count("unsent_slots"), 0u);
  EXPECT_EQ(count("lost"), count("lost_frames") + count("lost_slots") + count("unsent_slots"));
  EXPECT_EQ(count("lost_frames"),
            count("sent_frames") - count("acknowledged_frames") + count("refused_frames"));
  // 8 s at 100 slots/s: each slot was sent, or was due while nobody was there.
  EXPECT_NEAR(static_cast<double>(count("sent_slots") + count("unsent_slots")), 800, 20);
  EXPECT_GT(count("received_slots"), 100u) << "and it goes on afterwards";
}

}  // namespace
}  // namespace tributary::testing
