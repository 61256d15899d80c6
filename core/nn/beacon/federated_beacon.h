// A beacon network as the model of a federated run: a safetensors file, and the flat vector of its values.
//
// The normalisation is part of the model, so it is the same on every board. For second-order training the
// file has three more tensors, `second_order.high`, `.low` and `.sums`. high + low are the parameters at
// which the boards make their sums, in double precision; `sums` is zero in every model: its elements are
// where the boards' updates carry digits (beacon_sums.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/beacon_sums.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// Places in the flat vector, which has the tensors in the order of their names.
struct BeaconPlaces {
  // input.gain, input.offset, layer1.weight, layer2.weight, output.centre, output.scale.
  static constexpr std::size_t kLayers = 2 * BeaconNetwork::kInputs;
  static constexpr std::size_t kFirstOrderElements =
      kLayers + BeaconNetwork::kParameters + BeaconNetwork::kOutputs + 1;
  static constexpr std::size_t kHigh = kFirstOrderElements;
  static constexpr std::size_t kLow = kHigh + BeaconNetwork::kParameters;
  static constexpr std::size_t kSums = kLow + BeaconNetwork::kParameters;
  static constexpr std::size_t kSecondOrderElements = kSums + kBeaconSumElements;
};

struct FederatedBeacon {
  BeaconNetwork network;  // neither calibrated nor with a reach
  bool second_order = false;
};

// A network to start from: random parameters, inputs from 0 to `range_m` and positions from `low_m` to
// `high_m` within ±1. The caller fills in anchors, tag and provenance.
BeaconNetwork StartBeacon(std::uint64_t seed, double range_m, const BeaconOutputs& low_m,
                          const BeaconOutputs& high_m);

// Metadata: kind "federated_beacon", and as EncodeBeacon.
std::string EncodeFederatedBeacon(const FederatedBeacon& beacon);
// Errors: InvalidArgument for another kind, convention, shape or type, or values that are not finite.
absl::StatusOr<FederatedBeacon> FederatedBeaconFromTensors(const parameters::TensorSet& set);

// The parameters of a flat model: high + low if it is second order, else those of the layers.
BeaconParameters ParametersAt(std::span<const float> flat);
// high and low: the nearest that two floats can say.
void SetParametersAt(const BeaconParameters& parameters, std::span<float> flat);

}  // namespace tributary::nn
