#include "fpga/model/beacon_image.h"

namespace tributary::fpga {
namespace {

using Beacon = nn::BeaconNetwork;

struct BeaconPlace {
  std::size_t word, lane;
};

// Where a weight, numbered in the board's order, is stored.
constexpr BeaconPlace PlaceOf(std::size_t index) {
  constexpr std::size_t kPerNeuron = Beacon::kInputs + 1;
  if (index < Beacon::kLayer1) return {index / kPerNeuron, index % kPerNeuron};
  const std::size_t output = (index - Beacon::kLayer1) / (Beacon::kHidden + 1);
  const std::size_t hidden = (index - Beacon::kLayer1) % (Beacon::kHidden + 1);
  if (hidden == Beacon::kHidden) return {kBeaconParameterWords - 1, output};
  return {Beacon::kHidden + hidden / 2, 2 * output + hidden % 2};
}

}  // namespace

BeaconParameterWords ToBeaconWords(const BeaconWeights& weights) {
  BeaconParameterWords words = {};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const BeaconPlace place = PlaceOf(i);
    words[place.word] |= std::uint64_t{static_cast<std::uint16_t>(weights[i])} << (16 * place.lane);
  }
  return words;
}

BeaconWeights FromBeaconWords(const BeaconParameterWords& words) {
  BeaconWeights weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const BeaconPlace place = PlaceOf(i);
    weights[i] = static_cast<std::int16_t>(words[place.word] >> (16 * place.lane));
  }
  return weights;
}

std::uint64_t BeaconInputWord(const BeaconModel::Inputs& inputs) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    word |= std::uint64_t{static_cast<std::uint16_t>(inputs[i])} << (16 * i);
  }
  return word;
}

BeaconModel::Outputs BeaconOutputsOf(std::uint64_t word) {
  return {static_cast<std::int32_t>(static_cast<std::uint32_t>(word)), static_cast<std::int32_t>(word >> 32)};
}

}  // namespace tributary::fpga
