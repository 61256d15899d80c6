// Drives a modulation block, and compares with the golden model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/tb/common/network_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

template <class Model>
class ModulationBench : public NetworkBench<Model> {
 public:
  ModulationBench(std::uint32_t seed, const ModulationParallelism& parallelism)
      : NetworkBench<Model>(seed), parallelism_(parallelism) {}

  // Expects this network for everything offered from now on.
  void Expect(const Int8Modulation& network) { network_ = network; }

  void Load(const Int8Modulation& network) {
    Expect(network);
    const auto words = ModulationParameterWords(network, parallelism_);
    ASSERT_TRUE(words.ok()) << words.status();
    this->LoadWords(*words);
  }

  void Offer(std::span<const std::int8_t> samples) {
    std::array<std::uint64_t, kModulationInputWords> words;
    ModulationBurstWords(samples, words);
    std::vector<std::int32_t> logits = RunInt8Layers(network_, samples);
    for (const std::int32_t logit : logits) saturated += logit == 32767 || logit == -32768;
    this->OfferWords(words, std::move(logits));
  }

  // Waits until the last burst has started: the one before is answered.
  void RunUntilStarted() {
    this->Drain(/*left=*/1);
    for (int cycle = 0; cycle < 4; ++cycle) this->Cycle();
  }

  std::uint64_t saturated = 0;  // expected logits at an end of their range

 private:
  const ModulationParallelism parallelism_;
  Int8Modulation network_;
};

inline Int8Modulation Int8Of(const TrainedModulation& network) {
  absl::StatusOr<Int8Modulation> fixed = MakeInt8Modulation(network);
  EXPECT_TRUE(fixed.ok()) << fixed.status();
  return *std::move(fixed);
}

}  // namespace tributary::fpga
