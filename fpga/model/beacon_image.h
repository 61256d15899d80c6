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

// The registers of beacon_ports, and the windows of its ports where a board gives them one address range
// (fpga/device/beacon_ports_model.h). A window has a 32-bit word for each sample or weight.
struct BeaconRegister {
  static constexpr std::uint32_t kControl = 0x00;    // write: kStart and the number of samples, up to 15
  static constexpr std::uint32_t kStatus = 0x04;     // write: clears the bits that are 1, but not kBusy
  static constexpr std::uint32_t kInterrupt = 0x08;  // 1: the line shows kDone
  static constexpr std::uint32_t kCycles = 0x0c;     // of the last run
};
struct BeaconBit {
  static constexpr std::uint32_t kStart = 1u
                                          << 31;  // of the control register; reads as 1 while a run goes on
  static constexpr std::uint32_t kDone = 1, kBusy = 2, kStartRefused = 4, kWordRefused = 8;  // of the status
};
struct BeaconWindow {
  static constexpr std::uint32_t kControl = 0x0000;
  static constexpr std::array<std::uint32_t, 3> kInputs = {0x1000, 0x2000, 0x3000};
  static constexpr std::array<std::uint32_t, 2> kOutputs = {0x4000, 0x5000};
  static constexpr std::array<std::uint32_t, 2> kLayers = {0x6000, 0x7000};
};
inline constexpr std::size_t kBeaconPortSamples = 15;  // of a run

}  // namespace tributary::fpga
