// Drives a positioning block of any size, and compares with the golden stages.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/positioning_image.h"
#include "fpga/model/positioning_model.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/network_bench.h"

namespace tributary::fpga {

template <class Model>
class PositioningBench : public NetworkBench<Model> {
 public:
  PositioningBench(std::uint32_t seed, const PositioningParallelism& parallelism)
      : NetworkBench<Model>(seed), parallelism_(parallelism) {}

  // Expects this network for everything offered from now on.
  void Expect(const FixedPositioning& fixed) { fixed_ = fixed; }

  void Load(const FixedPositioning& fixed) {
    Expect(fixed);
    this->LoadWords(PositioningParameterWords(fixed, parallelism_));
  }

  void Offer(std::span<const std::int32_t> features) {
    this->OfferWords(PositioningInputWords(features), RunLayers(fixed_, features));
  }

  // Waits until everything offered has started.
  void RunUntilStarted(int rows) {
    this->RunUntilTaken();
    for (int row = 0; row < rows + 4; ++row) this->Cycle();
  }

  // A reset some cycles after everything offered was taken.
  void ResetAfter(unsigned cycles) {
    this->RunUntilTaken();
    for (unsigned cycle = 0; cycle < cycles; ++cycle) this->Cycle();
    this->Reset();
  }

 private:
  const PositioningParallelism parallelism_;
  FixedPositioning fixed_;
};

inline std::vector<std::int32_t> RandomWords(std::mt19937& random, std::size_t count, std::int32_t low,
                                             std::int32_t high) {
  std::vector<std::int32_t> words(count);
  for (std::int32_t& word : words) word = std::uniform_int_distribution<std::int32_t>(low, high)(random);
  return words;
}

// Words at both ends of their range only: the largest sums.
inline std::vector<std::int32_t> ExtremeWords(std::mt19937& random, std::size_t count, std::int32_t low,
                                              std::int32_t high) {
  std::vector<std::int32_t> words(count);
  for (std::int32_t& word : words) word = random() % 2 != 0 ? low : high;
  return words;
}

}  // namespace tributary::fpga
