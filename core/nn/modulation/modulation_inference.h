// The modulation networks in single precision: the reference of the integer formats.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/nn/kernel/sequence_stack.h"
#include "core/nn/modulation/modulation_network.h"

namespace tributary::nn {

// Lays bursts [count × 256], at most kSequenceLanes, side by side in `lanes` [256 × kSequenceLanes]; the rest
// becomes zero.
void LayOutBursts(std::span<const float> bursts, std::span<float> lanes);

// Owns the network and its activations; a run allocates nothing. One thread at a time.
class ModulationInference {
 public:
  explicit ModulationInference(ModulationNetwork network);

  const ModulationNetwork& network() const { return network_; }

  // Bursts [batch × 256] of unit power to logits [batch × 10], for any batch. All ten are NaN if a sample of
  // the burst is not finite.
  void Run(std::span<const float> bursts, std::size_t batch, std::span<float> logits);

  // Raises `ranges` (ModulationNetwork::activation_range) to the largest magnitudes that a run on these
  // bursts meets.
  void UpdateRanges(std::span<const float> bursts, std::span<float> ranges);

 private:
  ModulationNetwork network_;
  ParameterLayout layout_;
  SequenceStack stack_;
};

}  // namespace tributary::nn
