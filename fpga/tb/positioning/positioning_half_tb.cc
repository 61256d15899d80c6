// The full network with half of layer 1's parallelism, for boards with less block RAM
// (docs/fpga-resources.md).
#include "Vpositioning_half.h"
#include "fpga/model/random_network_fixture.h"
#include "fpga/tb/positioning/positioning_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr PositioningParallelism kHalf = {.first_layer_inputs = 256};
constexpr std::uint64_t kInterval = 400;

TEST(PositioningHalfTest, TakesTheParametersOfTheFullInstance) {
  const auto fixed = MakeFixedPositioning(RandomPositioningNetwork(1), NumberFormat::kInt8Int16);
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_EQ(PositioningParameterWords(*fixed, kHalf), PositioningParameterWords(*fixed));
}

TEST(PositioningHalfTest, MatchesTheGoldenModelEvery400Cycles) {
  std::mt19937 random(40);
  PositioningBench<Vpositioning_half> bench(50, kHalf);
  for (const std::uint64_t network : {11, 12}) {
    const auto fixed = MakeFixedPositioning(RandomPositioningNetwork(network), NumberFormat::kInt8Int16);
    ASSERT_TRUE(fixed.ok()) << fixed.status();
    bench.Load(*fixed);
    bench.Restart();
    for (int i = 0; i < 30; ++i) bench.Offer(RandomWords(random, FixedPositioning::kInputs, -128, 127));
    bench.Drain();
    const auto& out = bench.output_complete();
    ASSERT_EQ(out.size(), 30u);
    for (std::size_t i = 1; i < out.size(); ++i) EXPECT_LE(out[i] - out[i - 1], kInterval);
  }
  EXPECT_EQ(bench.compared, 60u);
}

}  // namespace
}  // namespace tributary::fpga
