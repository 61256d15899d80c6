// `tributary watch` while its aggregator is killed and started again.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

class WatchRestartTest : public ::testing::TestWithParam<const char*> {
 protected:
  // A watch whose standard output is a file.
  Process Watch(const std::string& output) {
    return Process("/bin/sh",
                   {"-c", "exec " + std::string(TRIBUTARY_BIN_DIR) + "/tributary watch room " + GetParam() +
                              " --aggregator " + address_ + " > " + output},
                   folder_.Path("watch.log"));
  }
  bool Watched() const {
    return WaitFor([this] { return MetricValue(aggregator_.Metrics(), "tributary_watch_streams") == 1; });
  }

  const ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}};
  const std::string address_ = "127.0.0.1:" + std::to_string(aggregator_.ingest_port());
};

std::size_t Occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_P(WatchRestartTest, SaysOnceThatTheAggregatorIsAwayAndOnceThatItIsBack) {
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready());
  const std::string output = folder_.Path("output");
  Process watch = Watch(output);
  const std::string away = "tributary watch: " + address_ + " is away (";
  const std::string back = "tributary watch: " + address_ + " is back\n";
  for (std::size_t outage = 1; outage <= 2; ++outage) {
    ASSERT_TRUE(Watched()) << watch.Log();
    aggregator_.process().Signal(SIGKILL);
    aggregator_.process().Wait(std::chrono::seconds(10));
    EXPECT_TRUE(WaitFor([&] { return Occurrences(watch.Log(), away) == outage; })) << watch.Log();
    aggregator_.Start();
    EXPECT_TRUE(WaitFor([&] { return Occurrences(watch.Log(), back) == outage; })) << watch.Log();
    EXPECT_EQ(Occurrences(watch.Log(), away), outage);
  }
  watch.Signal(SIGTERM);
  EXPECT_EQ(watch.Wait(std::chrono::seconds(20)), 0) << watch.Log();
  EXPECT_EQ(Occurrences(ReadText(output), address_), 0u) << "standard output is for slots and figures";
}

INSTANTIATE_TEST_SUITE_P(Forms, WatchRestartTest, ::testing::Values("", "--json"));

}  // namespace
}  // namespace tributary::testing
