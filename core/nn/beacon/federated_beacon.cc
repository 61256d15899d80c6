#include "core/nn/beacon/federated_beacon.h"

#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/nn/beacon/beacon_trainer.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr Convention kFederatedConventions[] = {
    {"kind", "federated_beacon"},
    {"layers", "3-10-tansig-2, weights [outputs, inputs + 1], the bias last"},
    {"normalisation", "(range - offset) * gain, m; position = centre + scale * output"},
    {"outputs", "x,y; m, site frame"},
    {"second_order",
     "parameters = high + low; sums: 2017 numbers of seven digits of base 2048, from 2^-44 on"},
};

constexpr const char* kSumsName = "second_order.sums";

template <class Network, class Visit>
void VisitFederated(Network& network, Visit visit) {
  const auto parameters = std::span(network.parameters);
  visit("input.gain", Shape{BeaconNetwork::kInputs}, std::span(network.input_gain_per_m));
  visit("input.offset", Shape{BeaconNetwork::kInputs}, std::span(network.input_offset_m));
  visit("layer1.weight", Shape{BeaconNetwork::kHidden, BeaconNetwork::kInputs + 1},
        parameters.first(BeaconNetwork::kLayer1));
  visit("layer2.weight", Shape{BeaconNetwork::kOutputs, BeaconNetwork::kHidden + 1},
        parameters.last(BeaconNetwork::kLayer2));
  visit("output.centre", Shape{BeaconNetwork::kOutputs}, std::span(network.output_centre_m));
  visit("output.scale", Shape{1}, std::span(&network.output_scale_m, 1));
}

// Not inline: GCC 12 takes the rounding to float out of the last two elements of a loop that it vectorises,
// and their low parts become 0.
[[gnu::noinline]] float HighOf(double value) { return static_cast<float>(value); }
[[gnu::noinline]] float LowOf(double value) {
  return static_cast<float>(value - static_cast<double>(HighOf(value)));
}

}  // namespace

BeaconNetwork StartBeacon(std::uint64_t seed, double range_m, const BeaconOutputs& low_m,
                          const BeaconOutputs& high_m) {
  BeaconNetwork network;
  std::mt19937_64 random(seed);
  network.parameters = RandomBeaconStart(random);
  network.input_offset_m.fill(range_m / 2);
  network.input_gain_per_m.fill(1.0 / (range_m / 2 * kBeaconMargin));
  network.output_scale_m = 0.0;
  for (std::size_t o = 0; o < BeaconNetwork::kOutputs; ++o) {
    network.output_centre_m[o] = (low_m[o] + high_m[o]) / 2;
    network.output_scale_m = std::max(network.output_scale_m, (high_m[o] - low_m[o]) / 2 * kBeaconMargin);
  }
  return network;
}

std::string EncodeFederatedBeacon(const FederatedBeacon& beacon) {
  parameters::TensorSet set;
  const TensorWriter write{set};
  VisitFederated(beacon.network, write);
  if (beacon.second_order) {
    std::vector<float> high(BeaconNetwork::kParameters);
    std::vector<float> low(BeaconNetwork::kParameters);
    std::ranges::transform(beacon.network.parameters, high.begin(), HighOf);
    std::ranges::transform(beacon.network.parameters, low.begin(), LowOf);
    write("second_order.high", Shape{BeaconNetwork::kParameters}, high);
    write("second_order.low", Shape{BeaconNetwork::kParameters}, low);
    write(kSumsName, Shape{kBeaconSums, kBeaconDigits}, std::vector<float>(kBeaconSumElements));
  }
  WriteMetadata(kFederatedConventions, beacon.network, set);
  set.metadata.emplace("anchors", absl::StrJoin(beacon.network.anchors, ","));
  set.metadata.emplace("tag", absl::StrCat(beacon.network.tag));
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<FederatedBeacon> FederatedBeaconFromTensors(const parameters::TensorSet& set) {
  FederatedBeacon beacon;
  RETURN_IF_ERROR(ReadMetadata(set, kFederatedConventions, beacon.network));
  absl::Status status;
  const TensorReader read{set, status};
  VisitFederated(beacon.network, read);
  status.Update(ReadBeaconAnchorsAndTag(set, beacon.network));
  beacon.second_order = set.tensors.contains(kSumsName);
  if (beacon.second_order) {
    std::vector<float> values;
    for (const char* name : {"second_order.high", "second_order.low"})
      read(name, Shape{BeaconNetwork::kParameters}, values);
    read(kSumsName, Shape{kBeaconSums, kBeaconDigits}, values);
  }
  RETURN_IF_ERROR(status);
  if (set.tensors.size() != (beacon.second_order ? 9U : 6U)) {
    return absl::InvalidArgumentError("a federated beacon model has no other tensors");
  }
  if (!(beacon.network.output_scale_m > 0.0)) {
    return absl::InvalidArgumentError("output.scale is not positive");
  }
  return beacon;
}

BeaconParameters ParametersAt(std::span<const float> flat) {
  BeaconParameters parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = flat.size() == BeaconPlaces::kSecondOrderElements
                        ? static_cast<double>(flat[BeaconPlaces::kHigh + i]) +
                              static_cast<double>(flat[BeaconPlaces::kLow + i])
                        : static_cast<double>(flat[BeaconPlaces::kLayers + i]);
  }
  return parameters;
}

void SetParametersAt(const BeaconParameters& parameters, std::span<float> flat) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    flat[BeaconPlaces::kHigh + i] = HighOf(parameters[i]);
    flat[BeaconPlaces::kLow + i] = LowOf(parameters[i]);
  }
}

}  // namespace tributary::nn
