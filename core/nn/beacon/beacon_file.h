// The beacon network as a file: tensors and metadata of a safetensors file. Pure over bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// Tensors (float32): layer1.weight [10, 4] and layer2.weight [2, 11], each row's bias last; input.offset and
// input.gain [3]; output.centre [2], output.scale [1]; calibration.residual_deviation [1],
// calibration.parameter_factor [62, 62]. The identity covers all of them.
//
// Metadata: kind "beacon", name, version, training_set, anchors ("1,4,6"), tag ("0"), and the conventions in
// words.
parameters::TensorSet BeaconTensors(const BeaconNetwork& network);

// Errors: InvalidArgument for another kind, convention, shape or type, or values that are not finite.
absl::StatusOr<BeaconNetwork> BeaconFromTensors(const parameters::TensorSet& set);

// As a safetensors file. Decoding fills sha256 (ParameterIdentity, hexadecimal). Errors: DataLoss as
// DecodeSafetensors, InvalidArgument as above.
std::string EncodeBeacon(const BeaconNetwork& network);
absl::StatusOr<BeaconNetwork> DecodeBeacon(std::string_view file);

}  // namespace tributary::nn
