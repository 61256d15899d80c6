// The instance with eight columns (modulation_eight.sv), as RTL and as netlist.
#include <cstdint>
#include <random>
#include <vector>

#include "Vmodulation_eight.h"
#include "fpga/model/random_modulation_fixture.h"
#include "fpga/tb/modulation/modulation_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

TEST(ModulationEightTest, MatchesTheGoldenModelUnderBothNetworks) {
  std::mt19937_64 random(80);
  ModulationBench<Vmodulation_eight> bench(81, {.columns = 8, .rows = 2112});
  std::uint64_t offered = 0;
  for (int network = 0; network < 4; ++network) {
    Int8Modulation fixed = Int8Of(network % 2 == 0 ? RandomTable4(82) : RandomCompact(83));
    if (network >= 2) MakeExtreme(random, fixed);
    bench.Pace(100, 100);
    bench.Load(fixed);
    bench.Pace(50, 30);
    for (int i = 0; i < 3; ++i, ++offered) {
      std::vector<std::int8_t> samples(kModulationInputs);
      for (std::int8_t& sample : samples) sample = static_cast<std::int8_t>(random());
      bench.Offer(samples);
    }
    bench.Drain();
  }
  EXPECT_EQ(bench.compared, offered);
  EXPECT_GT(bench.saturated, 0u);
}

}  // namespace
}  // namespace tributary::fpga
