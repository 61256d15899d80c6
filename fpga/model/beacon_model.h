// The golden model of the beacon network in the fixed point of [BEACON]: inputs, hidden values and outputs
// are 11-bit words Q1.10 (-1024…1023), weights 16-bit words Q8.8, tansig a table of 16,384 words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/beacon/beacon_network.h"

namespace tributary::fpga {

inline constexpr int kBeaconWordBits = 11;
inline constexpr int kBeaconWordFraction = 10;
inline constexpr int kBeaconWeightBits = 16;
inline constexpr int kBeaconWeightFraction = 8;

// The hyperbolic tangent sigmoid as a table of 16,384 words ([BEACON], section 2.2.3), addressed by a 14-bit
// two's complement number of 11 fraction bits: −4 ≤ x < 4. Beyond that the nearest end is used, where tanh is
// within 0.7 of a word of ±1.
inline constexpr int kTansigAddressBits = 14;
inline constexpr int kTansigAddressFraction = 11;
inline constexpr int kTansigFraction = 10;  // of the words: Q1.10, −1023…1023
inline constexpr std::size_t kTansigWords = std::size_t{1} << kTansigAddressBits;

// Word at address − 8192 … 8191 (index 0 is the lowest address): tanh rounded to nearest, then saturated.
std::span<const std::int16_t, kTansigWords> TansigTable();

// Hidden: sum = Σ weight · input + bias · 2^10, 18 fraction bits, at most 2^28: no overflow of 32 bits. Table
// address = sum rounded half up to 11 fraction bits, saturated to 14 bits. Output = Σ weight · hidden + bias
// · 2^10, rounded half up to 10 fraction bits, saturated.
//
// [BEACON] leaves inputs outside -1024…1023 undefined; here they saturate. Immutable; any thread may call.
class BeaconModel {
 public:
  using Inputs = std::array<std::int32_t, nn::BeaconNetwork::kInputs>;
  using Outputs = std::array<std::int32_t, nn::BeaconNetwork::kOutputs>;

  // Rounds the weights to nearest and saturates them to ±32767.
  explicit BeaconModel(const nn::BeaconNetwork& network);

  // Weights in the board's order: 40 of layer 1, 22 of layer 2.
  const std::array<std::int32_t, nn::BeaconNetwork::kParameters>& weights() const { return weights_; }

  // The integer network.
  Outputs Run(const Inputs& inputs) const;

  // Normalised inputs to words: rounded half up, saturated. The caller refuses NaN.
  static Inputs Quantise(const nn::BeaconInputs& inputs);

  // Normalised inputs to normalised outputs.
  nn::BeaconOutputs Infer(const nn::BeaconInputs& inputs) const;

 private:
  std::array<std::int32_t, nn::BeaconNetwork::kParameters> weights_;
};

}  // namespace tributary::fpga
