#include "core/nn/beacon/beacon_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/parameters/identity.h"
#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

using Text = std::pair<std::string_view, std::string_view>;

// The conventions of the format; the reader refuses a file with others.
constexpr std::array<Text, 5> kBeaconConventions = {{
    {"kind", "beacon"},
    {"layers", "3-10-tansig-2, weights [outputs, inputs + 1], the bias last"},
    {"normalisation", "(range - offset) * gain, m; position = centre + scale * output"},
    {"outputs", "x,y; m, site frame"},
    {"covariance", "s^2 * (I + (J F) transpose(J F)), s = residual_deviation, F = parameter_factor"},
}};

using Shape = std::vector<std::uint64_t>;

// Every tensor of the file and the member that holds it, for both directions.
template <class Network, class Visit>
void VisitBeaconTensors(Network& network, Visit visit) {
  const auto parameters = std::span(network.parameters);
  visit("layer1.weight", Shape{BeaconNetwork::kHidden, BeaconNetwork::kInputs + 1},
        parameters.first(BeaconNetwork::kLayer1));
  visit("layer2.weight", Shape{BeaconNetwork::kOutputs, BeaconNetwork::kHidden + 1},
        parameters.last(BeaconNetwork::kLayer2));
  visit("input.offset", Shape{BeaconNetwork::kInputs}, std::span(network.input_offset_m));
  visit("input.gain", Shape{BeaconNetwork::kInputs}, std::span(network.input_gain_per_m));
  visit("output.centre", Shape{BeaconNetwork::kOutputs}, std::span(network.output_centre_m));
  visit("output.scale", Shape{1}, std::span(&network.output_scale_m, 1));
  visit("calibration.residual_deviation", Shape{1}, std::span(&network.residual_deviation_m, 1));
  visit("calibration.parameter_factor", Shape{BeaconNetwork::kParameters, BeaconNetwork::kParameters},
        std::span(network.parameter_factor));
}

absl::Status ReadBeacon(const parameters::TensorSet& set, const std::string& name, const Shape& shape,
                        std::span<double> values) {
  const auto tensor = parameters::FindTensor(set, name);
  if (!tensor.ok()) return absl::InvalidArgumentError(tensor.status().message());
  const auto read = parameters::FloatValues(name, **tensor, shape);
  if (!read.ok()) return read.status();
  if (!std::ranges::all_of(*read, [](float v) { return std::isfinite(v); })) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\" is not finite"));
  }
  std::ranges::copy(*read, values.begin());
  return absl::OkStatus();
}

std::string BeaconMetadataOf(const parameters::TensorSet& set, std::string_view key) {
  const auto found = set.metadata.find(key);
  return found == set.metadata.end() ? "" : found->second;
}

absl::Status ReadAnchorsAndTag(const parameters::TensorSet& set, BeaconNetwork& network) {
  const std::string anchors = BeaconMetadataOf(set, "anchors");
  const std::vector<std::string> names = absl::StrSplit(anchors, ',');
  bool valid = names.size() == network.anchors.size();
  for (std::size_t i = 0; valid && i < names.size(); ++i) {
    valid = absl::SimpleAtoi(names[i], &network.anchors[i]) && network.anchors[i] >= 0;
  }
  if (!valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"anchors\" is \"", anchors, "\", expected three indices as \"1,4,6\""));
  }
  if (!absl::SimpleAtoi(BeaconMetadataOf(set, "tag"), &network.tag) || network.tag < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata \"tag\" is \"", BeaconMetadataOf(set, "tag"), "\", expected an index"));
  }
  return absl::OkStatus();
}

}  // namespace

parameters::TensorSet BeaconTensors(const BeaconNetwork& network) {
  parameters::TensorSet set;
  VisitBeaconTensors(
      network, [&set](const std::string& name, const Shape& shape, std::span<const double> values) {
        set.tensors.emplace(name,
                            parameters::FloatTensor(shape, std::vector<float>(values.begin(), values.end())));
      });
  for (const auto& [key, value] : kBeaconConventions) set.metadata.emplace(key, value);
  set.metadata.emplace("name", network.name);
  set.metadata.emplace("version", network.version);
  set.metadata.emplace("training_set", network.training_set);
  set.metadata.emplace("anchors", absl::StrJoin(network.anchors, ","));
  set.metadata.emplace("tag", absl::StrCat(network.tag));
  return set;
}

absl::StatusOr<BeaconNetwork> BeaconFromTensors(const parameters::TensorSet& set) {
  for (const auto& [key, expected] : kBeaconConventions) {
    if (const std::string found = BeaconMetadataOf(set, key); found != expected) {
      return absl::InvalidArgumentError(absl::StrCat("not a beacon model: metadata \"", std::string(key),
                                                     "\" is \"", found, "\", expected \"",
                                                     std::string(expected), "\""));
    }
  }
  BeaconNetwork network;
  network.parameter_factor.resize(BeaconNetwork::kParameters * BeaconNetwork::kParameters);
  absl::Status status;
  VisitBeaconTensors(network, [&](const std::string& name, const Shape& shape, std::span<double> values) {
    status.Update(ReadBeacon(set, name, shape, values));
  });
  status.Update(ReadAnchorsAndTag(set, network));
  if (!status.ok()) return status;
  if (!(network.residual_deviation_m > 0.0) || !(network.output_scale_m > 0.0)) {
    return absl::InvalidArgumentError("output.scale or calibration.residual_deviation is not positive");
  }
  network.name = BeaconMetadataOf(set, "name");
  network.version = BeaconMetadataOf(set, "version");
  network.training_set = BeaconMetadataOf(set, "training_set");
  network.sha256 = parameters::HexOf(parameters::ParameterIdentity(set));
  return network;
}

std::string EncodeBeacon(const BeaconNetwork& network) {
  return parameters::EncodeSafetensors(BeaconTensors(network));
}

absl::StatusOr<BeaconNetwork> DecodeBeacon(std::string_view file) {
  const auto set = parameters::DecodeSafetensors(file);
  if (!set.ok()) return set.status();
  return BeaconFromTensors(*set);
}

}  // namespace tributary::nn
