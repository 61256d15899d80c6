// The modulation block with twelve and with eight columns, under programs of any shape.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

#include "Vmodulation.h"
#include "Vmodulation_eight.h"
#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/random_modulation_fixture.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/modulation/modulation_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

struct TwelveColumns {
  using Model = Vmodulation;
  static constexpr ModulationParallelism kParallelism = {.columns = 12, .rows = 2048};
  static constexpr std::uint64_t kTable4Cycles = 3300;
  static constexpr std::uint64_t kCompactCycles = 1500;
};
struct EightColumns {
  using Model = Vmodulation_eight;
  static constexpr ModulationParallelism kParallelism = {.columns = 8, .rows = 2112};
  static constexpr std::uint64_t kTable4Cycles = 3500;
  static constexpr std::uint64_t kCompactCycles = 2300;
};

template <class Instance>
class ModulationTest : public testing::Test {
 protected:
  ModulationTest() : random_(60), bench_(61, Instance::kParallelism) {}

  std::vector<std::int8_t> Samples(bool extreme = false) {
    std::vector<std::int8_t> samples(kModulationInputs);
    for (std::int8_t& sample : samples) {
      sample = static_cast<std::int8_t>(extreme ? (random_() % 2 == 0 ? -128 : 127) : random_());
    }
    return samples;
  }

  // Cycles from one burst to the next and from the last word in to the last word out, of a block that waits.
  void ExpectCycles(const char* name, const Int8Modulation& network, std::uint64_t most) {
    bench_.Load(network);
    bench_.Offer(Samples());
    bench_.Drain();
    const std::uint64_t latency = bench_.output_complete()[0] - bench_.input_complete()[0];
    for (int i = 0; i < 12; ++i) bench_.Offer(Samples());
    bench_.Drain();
    const auto& out = bench_.output_complete();
    ASSERT_EQ(out.size(), 13u);
    std::uint64_t interval = 0;
    for (std::size_t i = 2; i < out.size(); ++i) interval = std::max(interval, out[i] - out[i - 1]);
    std::cout << "modulation, " << name << ", " << Instance::kParallelism.columns
              << " columns: a burst every " << interval << " cycles, latency " << latency
              << " cycles from the last input word in to the last result word out\n";
    EXPECT_EQ(interval, ModulationCycles(network, Instance::kParallelism));
    EXPECT_LE(interval, most);
    EXPECT_LE(latency, interval + 60);
  }

  std::mt19937_64 random_;
  ModulationBench<typename Instance::Model> bench_;
};

using Instances = testing::Types<TwelveColumns, EightColumns>;
TYPED_TEST_SUITE(ModulationTest, Instances);

TYPED_TEST(ModulationTest, MatchesTheGoldenModelUnderProgramsOfAnyShape) {
  auto& bench = this->bench_;
  Coverage coverage;
  std::uint64_t& programs = coverage.Point("programs", 60);
  std::uint64_t& compared = coverage.Point("bursts compared", 500);
  std::uint64_t& in_waited = coverage.Point("input waits", 100);
  std::uint64_t& out_waited = coverage.Point("output waits", 100);
  std::uint64_t& load_waited = coverage.Point("load waits for bursts under way", 100);
  std::uint64_t& saturated = coverage.Point("logits at an end of their range", 10);
  std::uint64_t& longest = coverage.Point("programs of eight layers", 2);
  std::uint64_t& left_over = coverage.Point("passes with left-over steps", 20);
  // Starved, choked, neither.
  constexpr std::array<std::array<unsigned, 2>, 4> kPaces = {{{100, 100}, {60, 50}, {100, 1}, {10, 100}}};
  for (std::uint64_t seed = 0; seed < 64 && !bench.FailedOften(); ++seed) {
    Int8Modulation network = Int8Of(seed % 16 == 0 ? RandomCompact(seed) : RandomModulation(seed));
    if (seed % 4 == 3) MakeExtreme(this->random_, network);
    bench.Pace(100, 100);
    bench.Load(network);
    ++programs;
    longest += network.layers.size() == kModulationLayers;
    for (const Int8Layer& layer : network.layers) {
      left_over += layer.shape.terms() < 16 || layer.shape.terms() % 4 != 0;
    }
    bench.Pace(kPaces[seed % 4][0], kPaces[seed % 4][1]);
    for (int i = 0; i < 9; ++i) bench.Offer(this->Samples(i % 3 == 2));
    // The next network arrives while the last burst is computed.
    bench.RunUntilStarted();
  }
  bench.Drain();
  compared = bench.compared;
  in_waited = bench.input_waited;
  out_waited = bench.output_waited;
  load_waited = bench.load_waited;
  saturated = bench.saturated;
}

TYPED_TEST(ModulationTest, Table4TakesTheCyclesOfItsShape) {
  this->ExpectCycles("table 4", Int8Of(RandomTable4(70)), TypeParam::kTable4Cycles);
}

TYPED_TEST(ModulationTest, CompactTakesTheCyclesOfItsShape) {
  this->ExpectCycles("compact", Int8Of(RandomCompact(71)), TypeParam::kCompactCycles);
}

using ModulationTwelveTest = ModulationTest<TwelveColumns>;

TEST_F(ModulationTwelveTest, ComputesNothingBeforeANetworkIsLoaded) {
  const Int8Modulation network = Int8Of(RandomModulation(72));
  bench_.Expect(network);
  for (int i = 0; i < 3; ++i) bench_.Offer(Samples());
  for (int cycle = 0; cycle < 5000; ++cycle) bench_.Cycle();
  EXPECT_EQ(bench_.compared, 0u);
  bench_.Pace(50, 100);  // the network comes with pauses
  bench_.Load(network);
  bench_.Drain();
  EXPECT_EQ(bench_.compared, 3u);
}

TEST_F(ModulationTwelveTest, BeginsAnewAfterAReset) {
  const Int8Modulation network = Int8Of(RandomModulation(73));
  const std::uint64_t cycles = ModulationCycles(network);
  for (int round = 0; round < 20 && !bench_.FailedOften(); ++round) {
    bench_.Load(network);
    for (int i = 0; i < 3; ++i) bench_.Offer(Samples());
    bench_.RunUntilTaken();
    if (round % 4 == 0) bench_.Drain();
    for (std::uint64_t cycle = round % 4 == 0 ? 0 : random_() % (2 * cycles); cycle > 0; --cycle)
      bench_.Cycle();
    bench_.Reset();
    bench_.Load(network);
    const std::uint64_t before = bench_.compared;
    for (int i = 0; i < 3; ++i) bench_.Offer(Samples());
    bench_.Drain();
    EXPECT_EQ(bench_.compared, before + 3);
  }
}

TEST_F(ModulationTwelveTest, AnyProgramComesToItsEnd) {
  // A check of the board sends zeros; here the words are arbitrary, too. The logits mean nothing.
  const std::vector<std::uint64_t> burst(kModulationInputWords, 0x0123'4567'89ab'cdef);
  for (int program = 0; program < 5; ++program) {
    std::vector<std::uint64_t> words(ModulationParameterWordCount());
    // Short passes only, so that the test ends soon.
    constexpr std::uint64_t kShort = 0x000f'fffe'4c70'ffff;
    for (std::size_t i = 0; program > 0 && i < words.size(); ++i) {
      words[i] = i < kModulationLayers ? random_() & kShort : random_();
    }
    bench_.LoadWords(words);
    EXPECT_EQ(bench_.Answers(burst, 20'000), kModulationOutputWords) << program;
  }
}

}  // namespace
}  // namespace tributary::fpga
