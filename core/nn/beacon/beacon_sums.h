// What one board's data say in a round of second-order training, as floats that add up exactly.
//
// The numbers are JᵀJ, Jᵀe, eᵀe and the number of patterns: plain sums over patterns, so the sums of all
// boards are those of the union. Each is rounded to a multiple of 2^-44 and written as seven digits of base
// 2,048 between -1,024 and 1,024. Floats, fixed-point words and masks add such digits without an error
// (docs/decisions/0035-second-order-sums.md).
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/optimise/levenberg_marquardt.h"

namespace tributary::nn {

struct BeaconSums {
  NormalEquations equations{BeaconNetwork::kParameters};
  double patterns = 0.0;

  // Per coordinate.
  double MeanSquaredError() const {
    return equations.squared_error / (patterns * static_cast<double>(BeaconNetwork::kOutputs));
  }
};

inline constexpr std::size_t kBeaconSums =
    BeaconNetwork::kParameters * (BeaconNetwork::kParameters + 1) / 2 + BeaconNetwork::kParameters + 2;
inline constexpr std::size_t kBeaconDigits = 7;
inline constexpr std::size_t kBeaconSumElements = kBeaconSums * kBeaconDigits;
inline constexpr float kMaxBeaconDigit = 1024;
// Sums of the digits of so many boards survive as a mean in float32: it is off by less than one part in 2^23,
// and 1,024 · 1,024 / 2^23 is below one half.
inline constexpr std::size_t kMaxBeaconBoards = 1024;

// Errors: OutOfRange for a sum that is not finite or has a magnitude of about 2^32.
absl::Status PackBeaconSums(const BeaconSums& sums, std::span<float> digits);

// From the added digits of `boards` boards, each a whole number. Errors: OutOfRange for digits that so many
// boards cannot have; InvalidArgument for sums that no data have: no patterns, a negative square.
absl::StatusOr<BeaconSums> UnpackBeaconSums(std::span<const float> digits, std::size_t boards);

}  // namespace tributary::nn
