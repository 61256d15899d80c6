// The network of [BEACON]: three ranges → 10 tansig → position x, y.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tributary::nn {

struct BeaconNetwork {
  static constexpr std::size_t kInputs = 3;
  static constexpr std::size_t kHidden = 10;
  static constexpr std::size_t kOutputs = 2;
  static constexpr std::size_t kLayer1 = kHidden * (kInputs + 1);   // 40
  static constexpr std::size_t kLayer2 = kOutputs * (kHidden + 1);  // 22
  static constexpr std::size_t kParameters = kLayer1 + kLayer2;

  // Three weights and a bias per hidden neuron, then ten weights and a bias per output: the order in which
  // the board takes them ([BEACON], section 4.1).
  std::array<double, kParameters> parameters = {};

  // Ranges to inputs: (range - offset) * gain, within ±1 over the training set. Outputs to position: centre +
  // scale · output.
  std::array<double, kInputs> input_offset_m = {};
  std::array<double, kInputs> input_gain_per_m = {};
  std::array<double, kOutputs> output_centre_m = {};
  double output_scale_m = 1.0;

  // Root mean square error per coordinate on data held out from training.
  double residual_deviation_m = 0.0;

  // Lower Cholesky factor of (JᵀJ)⁻¹ over the training set in units of inputs and outputs, row-major [62 ×
  // 62]. The covariance of an estimate is s²·I + s²·J(JᵀJ)⁻¹Jᵀ.
  std::vector<double> parameter_factor;

  // Indices of the anchors whose ranges are the inputs, and of the tag.
  std::array<int, kInputs> anchors = {};
  int tag = 0;

  // Identity and provenance.
  std::string name;
  std::string version;
  std::string training_set;
  std::string sha256;  // hex, of the parameters
};

using BeaconInputs = std::array<double, BeaconNetwork::kInputs>;
using BeaconOutputs = std::array<double, BeaconNetwork::kOutputs>;

// Normalised inputs to normalised outputs.
BeaconOutputs BeaconForward(const std::array<double, BeaconNetwork::kParameters>& parameters,
                            const BeaconInputs& inputs);

// ∂outputs/∂parameters, row-major [2 × 62].
using BeaconJacobian = std::array<std::array<double, BeaconNetwork::kParameters>, BeaconNetwork::kOutputs>;
BeaconJacobian BeaconJacobianOf(const std::array<double, BeaconNetwork::kParameters>& parameters,
                                const BeaconInputs& inputs);

// Ranges (m) to normalised inputs, normalised outputs to a position (m).
BeaconInputs NormaliseRanges(const BeaconNetwork& network, const BeaconInputs& ranges_m);
BeaconOutputs PositionOf(const BeaconNetwork& network, const BeaconOutputs& outputs);

// Lower Cholesky factor l11, l21, l22 (m) of the covariance of the estimate from these normalised inputs.
std::array<double, 3> BeaconCholesky(const BeaconNetwork& network, const BeaconInputs& inputs);

}  // namespace tributary::nn
