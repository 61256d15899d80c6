// The positioning network of [LIS] as trained: 1024 → 200 (ReLU) → BatchNorm → 100 (ReLU) → 20 (ReLU) → 5,
// no biases.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tributary::nn {

struct PositioningNetwork {
  static constexpr std::size_t kAntennas = 64;
  static constexpr std::size_t kSubcarriers = 8;
  static constexpr std::size_t kInputs = 2 * kAntennas * kSubcarriers;
  static constexpr std::array<std::size_t, 5> kWidths = {kInputs, 200, 100, 20, 5};

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

  // Identity and provenance.
  std::string name;
  std::string version;
  std::string training_set;
  std::string sha256;  // hex, of the parameters
};

}  // namespace tributary::nn
