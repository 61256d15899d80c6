// The positioning network of [LIS] as trained: 1024 → 200 (ReLU) → BatchNorm → 100 (ReLU) → 20 (ReLU) → 5,
// no biases. Its file: tensors and metadata of a safetensors file. Pure over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/network_file.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// What becomes of the phase that all features share (core/nn/positioning/phase_alignment.h).
enum class PhaseAlignment { kFirstAntenna, kPlaneWave };

struct PositioningNetwork : Provenance {
  static constexpr std::size_t kAntennas = 64;
  static constexpr std::size_t kSubcarriers = 8;
  static constexpr std::size_t kInputs = 2 * kAntennas * kSubcarriers;
  static constexpr std::array<std::size_t, 5> kWidths = {kInputs, 200, 100, 20, 5};

  PhaseAlignment alignment = PhaseAlignment::kPlaneWave;

  // Standardisation of phase-aligned features: (x - mean) * inverse_deviation. [1024]
  std::vector<float> input_mean;
  std::vector<float> input_inverse_deviation;

  // Row-major [outputs × inputs] of layers 1 to 4.
  std::array<std::vector<float>, 4> weights;

  // Inference form of the batch norm after the first ReLU: y = x * scale + shift. [200]
  std::vector<float> batch_norm_scale;
  std::vector<float> batch_norm_shift;

  // Multiplies the Cholesky factor. Fitted on held-out data so that NEES is 2: networks trained by the
  // conditional NLL claim too little certainty. One factor per panel, for single tuples as sent.
  float covariance_scale = 1.0f;

  // Largest magnitude seen on the training set: standardised input, ReLU 1, batch norm, ReLU 2, ReLU 3,
  // output. The fixed-point formats choose their power-of-two scales from these (by a high quantile for the
  // input).
  std::array<float, 6> activation_range = {};
};

// As a safetensors file. Tensors (float32): input.mean and input.inverse_deviation [1024]; layer1.weight
// [200, 1024], layer2.weight [100, 200], layer3.weight [20, 100], layer4.weight [5, 20]; batch_norm.scale and
// batch_norm.shift [200]; calibration.covariance_scale [1]; calibration.activation_range [6]. The identity
// covers all of them.
//
// Metadata: kind "positioning", name, version, training_set; the rest describes the conventions to a reader
// of the file: format, layers, input, normalisation, outputs, diagonal, covariance.
std::string EncodePositioning(const PositioningNetwork& network);

// Fills sha256 (ParameterIdentity, hexadecimal). Errors: InvalidArgument for another kind, convention,
// alignment, shape or type, or values that are not finite.
absl::StatusOr<PositioningNetwork> PositioningFromTensors(const parameters::TensorSet& set);
// The file. Errors: DataLoss as DecodeSafetensors; those of PositioningFromTensors.
absl::StatusOr<PositioningNetwork> DecodePositioning(std::string_view file);

// The tensors that EncodePositioning writes.
parameters::TensorSet PositioningTensors(const PositioningNetwork& network);

}  // namespace tributary::nn
