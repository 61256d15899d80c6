// The positioning network as a file: tensors and metadata of a safetensors file. Pure over bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// Tensors (float32): input.mean and input.inverse_deviation [1024]; layer1.weight [200, 1024], layer2.weight
// [100, 200], layer3.weight [20, 100], layer4.weight [5, 20]; batch_norm.scale and batch_norm.shift [200];
// calibration.covariance_scale [1]; calibration.activation_range [6]. The identity covers all of them.
//
// Metadata: kind "positioning", name, version, training_set; the rest describes the conventions to a reader
// of the file: format, layers, input, normalisation, outputs, diagonal, covariance.
parameters::TensorSet PositioningTensors(const PositioningNetwork& network);

// Errors: InvalidArgument for another kind, convention, shape or type, or values that are not finite.
absl::StatusOr<PositioningNetwork> PositioningFromTensors(const parameters::TensorSet& set);

// As a safetensors file. Decoding fills sha256 (ParameterIdentity, hexadecimal). Errors: DataLoss as
// DecodeSafetensors, InvalidArgument as above.
std::string EncodePositioning(const PositioningNetwork& network);
absl::StatusOr<PositioningNetwork> DecodePositioning(std::string_view file);

}  // namespace tributary::nn
