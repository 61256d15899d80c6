// The beacon network as its kernel takes it: the 64-bit words of weights, samples and positions
// (fpga/rtl/beacon/beacon.sv).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fpga/model/beacon_model.h"

namespace tributary::fpga {

using BeaconWeights = std::array<std::int32_t, nn::BeaconNetwork::kParameters>;  // Q8.8, in the board's order

inline constexpr std::size_t kBeaconParameterWords = 16;
using BeaconParameterWords = std::array<std::uint64_t, kBeaconParameterWords>;

// Bits of the kernel's configuration. kRead: a word in is the number of a parameter word, the word out is
// that word.
struct BeaconConfiguration {
  static constexpr std::uint32_t kCompute = 0;
  static constexpr std::uint32_t kRead = 1;
};

// Four weights a word, the first in the low bits. Words 0 … 9: a hidden neuron, its bias last. 10 … 14: of
// outputs 0 and 1 the weights of two hidden neurons. 15: both biases, then zeros.
BeaconParameterWords ToBeaconWords(const BeaconWeights& weights);
BeaconWeights FromBeaconWords(const BeaconParameterWords& words);

// A sample is a word of three int16; a position a word of two int32.
std::uint64_t BeaconInputWord(const BeaconModel::Inputs& inputs);
BeaconModel::Outputs BeaconOutputsOf(std::uint64_t word);

}  // namespace tributary::fpga
