#include "fpga/model/beacon_model.h"

#include <algorithm>
#include <cmath>

#include "fpga/model/fixed_point.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kInputs = nn::BeaconNetwork::kInputs;
constexpr std::size_t kHidden = nn::BeaconNetwork::kHidden;
constexpr std::size_t kOutputs = nn::BeaconNetwork::kOutputs;
constexpr int kSumFraction = kBeaconWeightFraction + kBeaconWordFraction;

std::array<std::int16_t, kTansigWords> MakeTansigTable() {
  constexpr double kLargest = (1 << kTansigFraction) - 1;
  constexpr double kMiddle = static_cast<double>(kTansigWords) / 2;
  std::array<std::int16_t, kTansigWords> table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double address = static_cast<double>(i) - kMiddle;
    const double word = std::ldexp(std::tanh(std::ldexp(address, -kTansigAddressFraction)), kTansigFraction);
    table[i] = static_cast<std::int16_t>(std::clamp(std::nearbyint(word), -kLargest, kLargest));
  }
  return table;
}

std::int32_t TansigWord(std::int64_t sum) {
  const std::int64_t address =
      Saturate(RoundShift(sum, kSumFraction - kTansigAddressFraction), kTansigAddressBits);
  return TansigTable()[static_cast<std::size_t>(address - MinWord(kTansigAddressBits))];
}

// weights: `count` of them, then the bias.
template <typename Words>
std::int64_t Sum(const std::int32_t* weights, const Words& words) {
  std::int64_t sum = static_cast<std::int64_t>(weights[words.size()]) << kBeaconWordFraction;
  for (std::size_t i = 0; i < words.size(); ++i) sum += std::int64_t{weights[i]} * words[i];
  return sum;
}

}  // namespace

std::span<const std::int16_t, kTansigWords> TansigTable() {
  static const std::array<std::int16_t, kTansigWords> table = MakeTansigTable();
  return table;
}

BeaconModel::BeaconModel(const nn::BeaconNetwork& network) {
  std::ranges::transform(network.parameters, weights_.begin(), [](double w) {
    return static_cast<std::int32_t>(QuantiseWeight(w, kBeaconWeightFraction, kBeaconWeightBits));
  });
}

BeaconModel::Outputs BeaconModel::Run(const Inputs& inputs) const {
  std::array<std::int32_t, kHidden> hidden;
  for (std::size_t j = 0; j < kHidden; ++j) hidden[j] = TansigWord(Sum(&weights_[j * (kInputs + 1)], inputs));
  Outputs outputs;
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const std::int64_t sum = Sum(&weights_[nn::BeaconNetwork::kLayer1 + o * (kHidden + 1)], hidden);
    outputs[o] = static_cast<std::int32_t>(Saturate(RoundShift(sum, kBeaconWeightFraction), kBeaconWordBits));
  }
  return outputs;
}

BeaconModel::Inputs BeaconModel::Quantise(const nn::BeaconInputs& inputs) {
  Inputs words;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const double word = std::floor(std::ldexp(inputs[i], kBeaconWordFraction) + 0.5);
    words[i] = static_cast<std::int32_t>(std::clamp(word, static_cast<double>(MinWord(kBeaconWordBits)),
                                                    static_cast<double>(MaxWord(kBeaconWordBits))));
  }
  return words;
}

nn::BeaconOutputs BeaconModel::Infer(const nn::BeaconInputs& inputs) const {
  const Outputs words = Run(Quantise(inputs));
  nn::BeaconOutputs outputs;
  for (std::size_t o = 0; o < kOutputs; ++o) outputs[o] = std::ldexp(words[o], -kBeaconWordFraction);
  return outputs;
}

}  // namespace tributary::fpga
