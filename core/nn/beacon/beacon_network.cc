#include "core/nn/beacon/beacon_network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kInputs = BeaconNetwork::kInputs;
constexpr std::size_t kHidden = BeaconNetwork::kHidden;
constexpr std::size_t kOutputs = BeaconNetwork::kOutputs;
constexpr std::size_t kParameters = BeaconNetwork::kParameters;

std::array<double, kHidden> Hidden(const BeaconParameters& parameters, const BeaconInputs& inputs) {
  std::array<double, kHidden> hidden;
  for (std::size_t j = 0; j < kHidden; ++j) {
    const double* weights = &parameters[j * (kInputs + 1)];
    double sum = weights[kInputs];
    for (std::size_t i = 0; i < kInputs; ++i) sum += weights[i] * inputs[i];
    hidden[j] = std::tanh(sum);
  }
  return hidden;
}

constexpr Convention kBeaconConventions[] = {
    {"kind", "beacon"},
    {"layers", "3-10-tansig-2, weights [outputs, inputs + 1], the bias last"},
    {"normalisation", "(range - offset) * gain, m; position = centre + scale * output"},
    {"outputs", "x,y; m, site frame"},
    {"covariance", "s^2 * (I + (J F) transpose(J F)), s = residual_deviation, F = parameter_factor"},
};

// Every tensor of the file and the member that holds it, for both directions.
template <class Network, class Visit>
void VisitTensors(Network& network, Visit visit) {
  const auto parameters = std::span(network.parameters);
  visit("layer1.weight", Shape{kHidden, kInputs + 1}, parameters.first(BeaconNetwork::kLayer1));
  visit("layer2.weight", Shape{kOutputs, kHidden + 1}, parameters.last(BeaconNetwork::kLayer2));
  visit("input.offset", Shape{kInputs}, std::span(network.input_offset_m));
  visit("input.gain", Shape{kInputs}, std::span(network.input_gain_per_m));
  visit("output.centre", Shape{kOutputs}, std::span(network.output_centre_m));
  visit("output.scale", Shape{1}, std::span(&network.output_scale_m, 1));
  visit("calibration.residual_deviation", Shape{1}, std::span(&network.residual_deviation_m, 1));
  visit("calibration.parameter_factor", Shape{kParameters, kParameters}, network.parameter_factor);
}

// Older files have none.
absl::Status ReadReach(const parameters::TensorSet& set, BeaconNetwork& network) {
  const auto found = set.tensors.find("reach.ranges");
  if (found == set.tensors.end()) return absl::OkStatus();
  const Shape& shape = found->second.shape;
  if (shape.size() != 2 || shape[0] == 0 || shape[0] > BeaconNetwork::kMaxReach || shape[1] != kInputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("reach.ranges is not [n, 3] with at most ", BeaconNetwork::kMaxReach, " rows"));
  }
  absl::Status status;
  const TensorReader read{set, status};
  read("reach.ranges", shape, network.reach_m);
  read("reach.radius", Shape{1}, std::span(&network.reach_radius_m, 1));
  return status;
}

}  // namespace

absl::Status ReadBeaconAnchorsAndTag(const parameters::TensorSet& set, BeaconNetwork& network) {
  const std::string anchors = MetadataOf(set, "anchors");
  const std::vector<std::string> names = absl::StrSplit(anchors, ',');
  bool valid = names.size() == network.anchors.size();
  for (std::size_t i = 0; valid && i < names.size(); ++i) {
    valid = absl::SimpleAtoi(names[i], &network.anchors[i]) && network.anchors[i] >= 0;
  }
  if (!valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"anchors\" is \"", anchors, "\", expected three indices as \"1,4,6\""));
  }
  if (!absl::SimpleAtoi(MetadataOf(set, "tag"), &network.tag) || network.tag < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"tag\" is \"", MetadataOf(set, "tag"), "\", expected an index"));
  }
  return absl::OkStatus();
}

BeaconOutputs BeaconForward(const BeaconParameters& parameters, const BeaconInputs& inputs) {
  const std::array<double, kHidden> hidden = Hidden(parameters, inputs);
  BeaconOutputs outputs;
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const double* weights = &parameters[BeaconNetwork::kLayer1 + o * (kHidden + 1)];
    outputs[o] = weights[kHidden];
    for (std::size_t j = 0; j < kHidden; ++j) outputs[o] += weights[j] * hidden[j];
  }
  return outputs;
}

BeaconJacobian BeaconJacobianOf(const BeaconParameters& parameters, const BeaconInputs& inputs) {
  const std::array<double, kHidden> hidden = Hidden(parameters, inputs);
  BeaconJacobian jacobian = {};
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const std::size_t output = BeaconNetwork::kLayer1 + o * (kHidden + 1);
    for (std::size_t j = 0; j < kHidden; ++j) {
      const double slope = parameters[output + j] * (1.0 - hidden[j] * hidden[j]);
      for (std::size_t i = 0; i < kInputs; ++i) jacobian[o][j * (kInputs + 1) + i] = slope * inputs[i];
      jacobian[o][j * (kInputs + 1) + kInputs] = slope;
      jacobian[o][output + j] = hidden[j];
    }
    jacobian[o][output + kHidden] = 1.0;
  }
  return jacobian;
}

BeaconInputs NormaliseRanges(const BeaconNetwork& network, const BeaconInputs& ranges_m) {
  BeaconInputs inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    inputs[i] = (ranges_m[i] - network.input_offset_m[i]) * network.input_gain_per_m[i];
  }
  return inputs;
}

BeaconInputs RangesOf(const BeaconNetwork& network, const BeaconInputs& inputs) {
  BeaconInputs ranges_m;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ranges_m[i] = inputs[i] / network.input_gain_per_m[i] + network.input_offset_m[i];
  }
  return ranges_m;
}

BeaconOutputs PositionOf(const BeaconNetwork& network, const BeaconOutputs& outputs) {
  BeaconOutputs position;
  for (std::size_t o = 0; o < kOutputs; ++o) {
    position[o] = network.output_centre_m[o] + network.output_scale_m * outputs[o];
  }
  return position;
}

double BeyondReach(const BeaconNetwork& network, const BeaconInputs& ranges_m) {
  if (network.reach_m.empty()) return 0.0;
  double nearest_m = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + kInputs <= network.reach_m.size(); i += kInputs) {
    nearest_m =
        std::min(nearest_m, std::hypot(ranges_m[0] - network.reach_m[i], ranges_m[1] - network.reach_m[i + 1],
                                       ranges_m[2] - network.reach_m[i + 2]));
  }
  return std::max(0.0, nearest_m - network.reach_radius_m);
}

std::array<double, 3> BeaconCholesky(const BeaconNetwork& network, const BeaconInputs& inputs) {
  const BeaconJacobian jacobian = BeaconJacobianOf(network.parameters, inputs);
  // J(JᵀJ)⁻¹Jᵀ = (J·F)(J·F)ᵀ with the lower factor F.
  double xx = 1.0;
  double xy = 0.0;
  double yy = 1.0;
  for (std::size_t column = 0; column < kParameters; ++column) {
    double x = 0.0;
    double y = 0.0;
    for (std::size_t row = column; row < kParameters; ++row) {
      const double factor = network.parameter_factor[row * kParameters + column];
      x += jacobian[0][row] * factor;
      y += jacobian[1][row] * factor;
    }
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double s = network.residual_deviation_m;
  const double beyond = BeyondReach(network, RangesOf(network, inputs)) / s;
  xx += beyond * beyond;
  yy += beyond * beyond;
  const double l11 = std::sqrt(xx);
  const double l21 = xy / l11;
  return {s * l11, s * l21, s * std::sqrt(yy - l21 * l21)};
}

double BeaconSquaredError(const BeaconNetwork& network, const BeaconInputs& ranges_m,
                          const BeaconOutputs& position_m) {
  const BeaconInputs inputs = NormaliseRanges(network, ranges_m);
  const BeaconOutputs estimate = PositionOf(network, BeaconForward(network.parameters, inputs));
  const auto [l11, l21, l22] = BeaconCholesky(network, inputs);
  const double x = (position_m[0] - estimate[0]) / l11;
  const double y = (position_m[1] - estimate[1] - l21 * x) / l22;
  return x * x + y * y;
}

std::string EncodeBeacon(const BeaconNetwork& network) {
  parameters::TensorSet set;
  VisitTensors(network, TensorWriter{set});
  if (!network.reach_m.empty()) {
    TensorWriter{set}("reach.ranges", Shape{network.reach_m.size() / kInputs, kInputs}, network.reach_m);
    TensorWriter{set}("reach.radius", Shape{1}, std::span(&network.reach_radius_m, 1));
  }
  WriteMetadata(kBeaconConventions, network, set);
  set.metadata.emplace("anchors", absl::StrJoin(network.anchors, ","));
  set.metadata.emplace("tag", absl::StrCat(network.tag));
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<BeaconNetwork> DecodeBeacon(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  BeaconNetwork network;
  RETURN_IF_ERROR(ReadMetadata(set, kBeaconConventions, network));
  absl::Status status;
  VisitTensors(network, TensorReader{set, status});
  status.Update(ReadBeaconAnchorsAndTag(set, network));
  status.Update(ReadReach(set, network));
  RETURN_IF_ERROR(status);
  if (!(network.residual_deviation_m > 0.0) || !(network.output_scale_m > 0.0)) {
    return absl::InvalidArgumentError("output.scale or calibration.residual_deviation is not positive");
  }
  return network;
}

}  // namespace tributary::nn
