// The positioning block at full size.
#include <iostream>

#include "Vpositioning.h"
#include "fpga/model/random_network_fixture.h"
#include "fpga/tb/positioning/positioning_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kInputs = FixedPositioning::kInputs;

// Latency: from the last input word in to the last result word out. [LIS], table 7.1, has 200 and 429.
constexpr std::uint64_t kFullInterval = 200;
constexpr std::uint64_t kLatency = 406;

FixedPositioning RandomNetwork(std::uint64_t seed) {
  absl::StatusOr<FixedPositioning> fixed =
      MakeFixedPositioning(RandomPositioningNetwork(seed), NumberFormat::kInt8Int16);
  EXPECT_TRUE(fixed.ok()) << fixed.status();
  return *std::move(fixed);
}

// Every INT8 weight at an end of its range: the packed products come as close to each other as they can.
FixedPositioning ExtremeNetwork(std::uint64_t seed, std::mt19937& random) {
  FixedPositioning fixed = RandomNetwork(seed);
  fixed.dense[0].weights = ExtremeWords(random, fixed.dense[0].weights.size(), -127, 127);
  fixed.dense[0].shift = 7;
  return fixed;
}

class PositioningTest : public testing::Test {
 protected:
  PositioningTest() : random_(20), bench_(30, PositioningParallelism{}) {}

  std::vector<std::int32_t> Features() { return RandomWords(random_, kInputs, -128, 127); }

  std::mt19937 random_;
  PositioningBench<Vpositioning> bench_;
};

TEST_F(PositioningTest, MatchesTheGoldenModelUnderRandomBackPressure) {
  Coverage coverage;
  std::uint64_t& in_waited = coverage.Point("input waits", 100);
  std::uint64_t& out_waited = coverage.Point("output waits", 100);
  std::uint64_t& load_waited = coverage.Point("load waits for the pipeline to run empty", 100);
  std::uint64_t& compared = coverage.Point("inferences compared", 1000);
  // Starved, choked, neither.
  constexpr std::array<std::array<unsigned, 2>, 4> kPaces = {{{100, 100}, {60, 50}, {100, 1}, {30, 100}}};
  for (std::uint64_t network = 0; network < 3; ++network) {
    bench_.Load(network == 2 ? ExtremeNetwork(network, random_) : RandomNetwork(network));
    for (int batch = 0; batch < 12 && !bench_.FailedOften(); ++batch) {
      bench_.Pace(kPaces[batch % 4][0], kPaces[batch % 4][1]);
      for (int i = 0; i < 30; ++i) {
        bench_.Offer(i % 10 == 9 ? ExtremeWords(random_, kInputs, -128, 127) : Features());
      }
      if (batch < 11) bench_.Drain();
    }
    // The next network's parameters arrive while inferences are under way.
    bench_.RunUntilStarted(kFullInterval);
  }
  bench_.Drain();
  in_waited = bench_.input_waited;
  out_waited = bench_.output_waited;
  load_waited = bench_.load_waited;
  compared = bench_.compared;
}

TEST_F(PositioningTest, StartsAnInferenceEvery200CyclesAndAnswersWithin406) {
  bench_.Load(RandomNetwork(5));
  bench_.Offer(Features());
  bench_.Drain();
  const std::uint64_t latency = bench_.output_complete()[0] - bench_.input_complete()[0];
  bench_.Restart();
  constexpr int kInferences = 50;
  for (int i = 0; i < kInferences; ++i) bench_.Offer(Features());
  bench_.Drain();
  const auto& out = bench_.output_complete();
  ASSERT_EQ(out.size(), kInferences);
  std::uint64_t interval = 0;
  for (std::size_t i = 1; i < out.size(); ++i) interval = std::max(interval, out[i] - out[i - 1]);
  std::cout << "positioning: a result every " << interval << " cycles, latency " << latency
            << " cycles from the last input word in to the last result word out, "
            << latency + kInputs / 8 - 1 << " from the first\n";
  EXPECT_LE(interval, kFullInterval);
  EXPECT_LE(latency, kLatency);
}

TEST_F(PositioningTest, ComputesNothingBeforeANetworkIsLoaded) {
  const FixedPositioning fixed = RandomNetwork(6);
  bench_.Expect(fixed);
  for (int i = 0; i < 3; ++i) bench_.Offer(Features());
  for (int cycle = 0; cycle < 2000; ++cycle) bench_.Cycle();
  EXPECT_EQ(bench_.compared, 0u);
  bench_.Load(fixed);
  bench_.Drain();
  EXPECT_EQ(bench_.compared, 3u);
}

}  // namespace
}  // namespace tributary::fpga
