// The scaled-down instance (positioning_small.sv), as RTL and as netlist.
#include "Vpositioning_small.h"
#include "fpga/tb/positioning/positioning_bench.h"
#include "fpga/tb/positioning/small_network.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

TEST(PositioningSmallTest, MatchesTheGoldenStagesUnderRandomBackPressure) {
  Coverage coverage;
  std::uint64_t& compared = coverage.Point("inferences compared", 1000);
  std::uint64_t& in_waited = coverage.Point("input waits", 100);
  std::uint64_t& out_waited = coverage.Point("output waits", 100);
  std::uint64_t& reloaded = coverage.Point("networks", 8);
  std::uint64_t& saturated = coverage.Point("results at an end of their range", 10);
  std::mt19937 random(3);
  PositioningBench<Vpositioning_small> bench(4, kSmallParallelism);
  while (reloaded < 12 && !bench.FailedOften()) {
    const FixedPositioning fixed = SmallNetwork(random, reloaded % 3 == 2);
    bench.Load(fixed);
    ++reloaded;
    for (int i = 0; i < 100; ++i) {
      const std::vector<std::int32_t> features = i % 4 == 0 ? ExtremeWords(random, kSmallWidths[0], -128, 127)
                                                            : RandomWords(random, kSmallWidths[0], -128, 127);
      for (const std::int32_t result : RunLayers(fixed, features)) {
        saturated += result == 32767 || result == -32768;
      }
      bench.Offer(features);
    }
    while (bench.compared < 100 * reloaded && !bench.FailedOften()) {
      bench.Pace(20 + random() % 81, 1 + random() % 100);
      for (int cycle = 0; cycle < 100; ++cycle) bench.Cycle();
    }
  }
  compared = bench.compared;
  in_waited = bench.input_waited;
  out_waited = bench.output_waited;
}

TEST(PositioningSmallTest, BeginsAnewAfterAReset) {
  constexpr std::uint64_t kRounds = 60;
  std::mt19937 random(5);
  PositioningBench<Vpositioning_small> bench(6, kSmallParallelism);
  const auto offer = [&](unsigned inferences) {
    for (unsigned i = 0; i < inferences; ++i) bench.Offer(RandomWords(random, kSmallWidths[0], -128, 127));
  };
  for (std::uint64_t round = 1; round <= kRounds && !bench.FailedOften(); ++round) {
    const FixedPositioning fixed = SmallNetwork(random, false);
    bench.Load(fixed);
    const std::uint64_t before = bench.compared;
    offer(1 + round % 3);
    bench.ResetAfter(random() % 40);
    const std::uint64_t answered = bench.compared - before;
    EXPECT_LE(answered, 1 + round % 3);
    bench.Load(fixed);
    offer(3);
    bench.Drain();
    EXPECT_EQ(bench.compared, before + answered + 3);
  }
}

}  // namespace
}  // namespace tributary::fpga
