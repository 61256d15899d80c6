// The beacon network between streams, against its golden model.
#include <array>
#include <cstdint>
#include <optional>

#include "Vbeacon.h"
#include "fpga/model/beacon_image.h"
#include "fpga/tb/beacon/random_beacon.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/network_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::uint64_t kInterval = 5;
constexpr std::uint64_t kLatency = 20;  // from a word in to its word out, without a pause

class BeaconBench : public NetworkBench<Vbeacon> {
 public:
  explicit BeaconBench(std::uint32_t seed) : NetworkBench(seed) { SetRead(false); }

  // Words in are numbers of weight words. Nothing may be inside.
  void SetRead(bool read) { model().cfg_read_i = read ? 1 : 0; }

  void Load(const BeaconModel& model) {
    LoadWords(ToBeaconWords(model.weights()));
    model_.emplace(model);
  }

  void Offer(const BeaconModel::Inputs& inputs) {
    const BeaconModel::Outputs outputs = model_->Run(inputs);
    OfferWords(std::array{BeaconInputWord(inputs) | std::uint64_t{unused_++} << 48},
               {outputs.begin(), outputs.end()});
  }

 private:
  std::optional<BeaconModel> model_;
  std::uint16_t unused_ = 0;  // what the fourth lane of an input word holds
};

TEST(BeaconTest, MatchesTheGoldenModelUnderRandomBackPressure) {
  Coverage coverage;
  std::uint64_t& compared = coverage.Point("samples compared", 20'000);
  std::uint64_t& in_waited = coverage.Point("input waits", 1'000);
  std::uint64_t& out_waited = coverage.Point("output waits", 1'000);
  std::uint64_t& load_waited = coverage.Point("load waits", 10);
  std::uint64_t& saturated = coverage.Point("outputs at an end", 1'000);
  std::mt19937 random(3);
  BeaconBench bench(4);
  for (int network = 0; network < 100 && !bench.FailedOften(); ++network) {
    const BeaconModel model = RandomBeacon(random, static_cast<BeaconRange>(network % 3));
    bench.Load(model);  // samples of the network before are still inside
    for (int i = 0; i < 200; ++i) {
      const BeaconModel::Inputs inputs = RandomBeaconInputs(random);
      for (const std::int32_t output : model.Run(inputs)) saturated += output == 1'023 || output == -1'024;
      bench.Offer(inputs);
    }
    while (bench.compared < 200u * static_cast<unsigned>(network) + 195 && !bench.FailedOften()) {
      bench.Pace(20 + random() % 81, 1 + random() % 100);
      for (int cycle = 0; cycle < 50; ++cycle) bench.Cycle();
    }
    bench.RunUntilTaken();
  }
  bench.Drain();
  compared = bench.compared;
  in_waited = bench.input_waited;
  out_waited = bench.output_waited;
  load_waited = bench.load_waited;
}

// Each address of the tansig table, and sums up to half a unit around it. Neuron 0 alone counts: its value
// goes to output 0, its bias and one input choose the sum.
TEST(BeaconTest, EveryAddressOfTheTableGivesItsWord) {
  Coverage coverage;
  std::uint64_t& compared = coverage.Point("samples compared", 16'384 * 4);
  BeaconBench bench(5);
  for (std::size_t neuron = 0; neuron < 2 && !bench.FailedOften(); ++neuron) {
    // bias · 2^10 + 2 · input covers each sum of 18 fraction bits in steps of two from -2^20 to 2^20.
    for (std::int32_t bias = -1'040; bias <= 1'040 && !bench.FailedOften(); bias += 2) {
      nn::BeaconNetwork network;
      network.parameters[4 * neuron] = 2.0 / 256;
      network.parameters[4 * neuron + 3] = bias / 256.0;
      network.parameters[nn::BeaconNetwork::kLayer1 + neuron] = 1.0;
      bench.Load(BeaconModel(network));
      for (std::int32_t input = -1'024; input < 1'024; input += 31) bench.Offer({input, 5, -7});
      bench.RunUntilTaken();  // the next weights would go before them
    }
  }
  bench.Drain();
  compared = bench.compared;
}

TEST(BeaconTest, SaturatesInputsBeyondElevenBits) {
  std::mt19937 random(6);
  BeaconBench bench(7);
  const BeaconModel model = RandomBeacon(random, BeaconRange::kTrained);
  bench.Load(model);
  for (int i = 0; i < 500; ++i) {
    BeaconModel::Inputs inputs, clamped;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      inputs[k] = static_cast<std::int16_t>(random());
      if (i % 2 == 0) inputs[k] /= 16;
      clamped[k] = std::clamp(inputs[k], -1'024, 1'023);
    }
    const BeaconModel::Outputs outputs = model.Run(clamped);
    bench.OfferWords(std::array{BeaconInputWord(inputs)}, {outputs.begin(), outputs.end()});
  }
  bench.Drain();
  EXPECT_EQ(bench.compared, 500u);
}

TEST(BeaconTest, StartsASampleEveryFiveCycles) {
  std::mt19937 random(8);
  BeaconBench bench(9);
  bench.Load(RandomBeacon(random, BeaconRange::kTrained));
  std::array<std::uint64_t, 2> cycles = {};
  for (const std::uint64_t samples : {1, 15, 1000}) {
    bench.Restart();
    for (std::uint64_t i = 0; i < samples; ++i) bench.Offer(RandomBeaconInputs(random));
    bench.Drain();
    const std::uint64_t taken = bench.output_complete().back() - bench.input_complete().front();
    EXPECT_EQ(taken, kLatency + kInterval * (samples - 1));
    if (samples == 1) cycles[0] = taken;
    if (samples == 15) cycles[1] = taken;
  }
  RecordProperty("cycles_of_one", static_cast<int>(cycles[0]));
  std::printf("beacon: 1 sample %llu cycles, 15 samples %llu cycles, then one every %llu\n",
              static_cast<unsigned long long>(cycles[0]), static_cast<unsigned long long>(cycles[1]),
              static_cast<unsigned long long>(kInterval));
}

TEST(BeaconTest, LoadsWeightsInSixteenCycles) {
  std::mt19937 random(10);
  BeaconBench bench(11);
  const std::uint64_t begin = bench.cycle();
  bench.Load(RandomBeacon(random, BeaconRange::kTrained));
  EXPECT_EQ(bench.cycle() - begin, kBeaconParameterWords);
}

TEST(BeaconTest, GivesItsWeightsBack) {
  std::mt19937 random(12);
  BeaconBench bench(13);
  for (int round = 0; round < 20; ++round) {
    const BeaconModel model = RandomBeacon(random, BeaconRange::kExtreme);
    bench.Load(model);
    for (int i = 0; i < 3; ++i) bench.Offer(RandomBeaconInputs(random));
    bench.Drain();
    bench.SetRead(true);
    const BeaconParameterWords words = ToBeaconWords(model.weights());
    bench.Pace(20 + random() % 81, 1 + random() % 100);
    for (int i = 0; i < 40; ++i) {
      const std::size_t word = random() % words.size();
      bench.OfferWords(
          std::array{std::uint64_t{random()} << 4 | word},
          {static_cast<std::int32_t>(words[word]), static_cast<std::int32_t>(words[word] >> 32)});
    }
    bench.Drain();
    bench.SetRead(false);
    bench.Offer(RandomBeaconInputs(random));
    bench.Drain();
  }
  EXPECT_EQ(bench.compared, 20u * 44u);
}

TEST(BeaconTest, ComputesNothingBeforeItsWeightsAreLoaded) {
  std::mt19937 random(14);
  BeaconBench bench(15);
  const std::array one{BeaconInputWord({1, 2, 3})};
  EXPECT_EQ(bench.Answers(one, 200), 0u);
  const BeaconModel model = RandomBeacon(random, BeaconRange::kTrained);
  const BeaconParameterWords words = ToBeaconWords(model.weights());
  bench.LoadWords(std::span(words).first(15));
  EXPECT_EQ(bench.Answers({}, 200), 0u);
  bench.LoadWords(std::span(words).last(1));
  EXPECT_EQ(bench.Answers({}, 200), 1u);
}

TEST(BeaconTest, BeginsAnewAfterAReset) {
  std::mt19937 random(16);
  BeaconBench bench(17);
  for (int round = 0; round < 60 && !bench.FailedOften(); ++round) {
    const BeaconModel model = RandomBeacon(random, BeaconRange::kTrained);
    // A load that was interrupted is forgotten.
    const BeaconParameterWords words = ToBeaconWords(model.weights());
    bench.LoadWords(std::span(words).first(random() % 16));
    bench.Reset();
    EXPECT_EQ(bench.Answers({}, 60), 0u);
    bench.Load(model);
    for (int i = 0; i < 6; ++i) bench.Offer(RandomBeaconInputs(random));
    bench.RunUntilTaken();
    for (unsigned cycle = random() % 30; cycle > 0; --cycle) bench.Cycle();
    bench.Reset();
    EXPECT_EQ(bench.Answers({}, 60), 0u) << "what was inside is gone";
    const std::uint64_t before = bench.compared;
    bench.Load(model);
    for (int i = 0; i < 3; ++i) bench.Offer(RandomBeaconInputs(random));
    bench.Drain();
    EXPECT_EQ(bench.compared, before + 3);
  }
}

}  // namespace
}  // namespace tributary::fpga
