// The network of [BEACON]: three ranges → 10 tansig → position x, y. Its file: tensors and metadata of a
// safetensors file. Pure over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/network_file.h"

namespace tributary::nn {

struct BeaconNetwork : Provenance {
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

  // Where training has been: triples of ranges, row-major [n × 3], at most kMaxReach; each example lies
  // within `reach_radius_m` of one. Empty: not known, in files of older versions.
  static constexpr std::size_t kMaxReach = 256;
  std::vector<double> reach_m;
  double reach_radius_m = 0.0;

  // Indices of the anchors whose ranges are the inputs, and of the tag.
  std::array<int, kInputs> anchors = {};
  int tag = 0;
};

using BeaconParameters = std::array<double, BeaconNetwork::kParameters>;
using BeaconInputs = std::array<double, BeaconNetwork::kInputs>;
using BeaconOutputs = std::array<double, BeaconNetwork::kOutputs>;

// Normalised inputs to normalised outputs.
BeaconOutputs BeaconForward(const BeaconParameters& parameters, const BeaconInputs& inputs);

// ∂outputs/∂parameters, row-major [2 × 62].
using BeaconJacobian = std::array<std::array<double, BeaconNetwork::kParameters>, BeaconNetwork::kOutputs>;
BeaconJacobian BeaconJacobianOf(const BeaconParameters& parameters, const BeaconInputs& inputs);

// Ranges (m) to normalised inputs, normalised outputs to a position (m).
BeaconInputs NormaliseRanges(const BeaconNetwork& network, const BeaconInputs& ranges_m);
// The other way.
BeaconInputs RangesOf(const BeaconNetwork& network, const BeaconInputs& inputs);
BeaconOutputs PositionOf(const BeaconNetwork& network, const BeaconOutputs& outputs);

// How far, m, these ranges lie beyond what training has seen; 0 within it, and where that is not known.
double BeyondReach(const BeaconNetwork& network, const BeaconInputs& ranges_m);

// Lower Cholesky factor l11, l21, l22 (m) of the covariance of the estimate from these normalised inputs. Out
// of reach each coordinate's deviation grows by as many metres as the ranges lie beyond: the network then
// repeats what it has seen, while the subject has gone about so far.
std::array<double, 3> BeaconCholesky(const BeaconNetwork& network, const BeaconInputs& inputs);

// Squared error of the network's position, in units of its covariance; 2 on average if it is consistent.
double BeaconSquaredError(const BeaconNetwork& network, const BeaconInputs& ranges_m,
                          const BeaconOutputs& position_m);

// As a safetensors file. Tensors (float32): layer1.weight [10, 4] and layer2.weight [2, 11], each row's bias
// last; input.offset and input.gain [3]; output.centre [2], output.scale [1]; calibration.residual_deviation
// [1], calibration.parameter_factor [62, 62]; optional: reach.ranges [n, 3], reach.radius [1]. The identity
// covers all of them.
//
// Metadata: kind "beacon", name, version, training_set, anchors ("1,4,6"), tag ("0"), and the conventions in
// words.
std::string EncodeBeacon(const BeaconNetwork& network);

// Fills sha256 (ParameterIdentity, hexadecimal). Errors: DataLoss as DecodeSafetensors; InvalidArgument for
// another kind, convention, shape or type, or values that are not finite.
absl::StatusOr<BeaconNetwork> DecodeBeacon(std::string_view file);

// From the metadata of a set. Errors: InvalidArgument.
absl::Status ReadBeaconAnchorsAndTag(const parameters::TensorSet& set, BeaconNetwork& network);

}  // namespace tributary::nn
