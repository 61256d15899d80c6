#include "core/runtime/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTest, ShowsCountersGaugesAndHistograms) {
  Metrics metrics;
  metrics.AddCounter("frames_total", "Frames.", {{"site", "lab"}}).Increment(3);
  metrics.AddCollector([](Reading& to) { to.Gauge("depth", "Depth.", {}, 2); });
  metrics.AddHistogram("seconds", "Seconds.", {0.1, 1.0}).Observe(0.5);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE frames_total counter"));
  EXPECT_THAT(text, HasSubstr("frames_total{site=\"lab\"} 3"));
  EXPECT_THAT(text, HasSubstr("depth 2"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"1\"} 1"));
}

TEST(MetricsTest, TheSameNameAndLabelsGiveTheSameHandle) {
  Metrics metrics;
  EXPECT_EQ(&metrics.AddCounter("a", "A."), &metrics.AddCounter("a", "A."));
}

TEST(MetricsTest, ReadsCallbacksWhenAsked) {
  Metrics metrics;
  double value = 1;
  metrics.AddCounterCallback("late_total", "Late.", {{"site", "a"}}, [&] { return value; });
  metrics.AddCounterCallback("late_total", "Late.", {{"site", "b"}}, [] { return 7.0; });
  value = 5;
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("late_total{site=\"a\"} 5"));
  EXPECT_THAT(text, HasSubstr("late_total{site=\"b\"} 7"));
}

TEST(MetricsTest, ProcessMetricsAreOfThisProcess) {
  Metrics metrics;
  metrics.AddProcessMetrics();
  const std::string text = metrics.Text();
  for (const char* name : {"process_resident_memory_bytes ", "process_cpu_seconds_total ",
                           "process_open_fds ", "process_start_time_seconds "}) {
    const std::size_t at = text.find(std::string("\n") + name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(std::stod(text.substr(at + 1 + std::string(name).size())), 0.0) << name;
  }
}

}  // namespace
}  // namespace tributary::runtime
