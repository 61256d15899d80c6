// A board's estimator of positions from ranges: the small network, or geometry with learned biases.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/geometry/range_geometry.h"

namespace tributary::cli {

using BeaconModel = std::variant<nn::BeaconNetwork, nn::RangeGeometry>;

// The file says which. Errors: as DecodeBeacon and DecodeRangeGeometry.
absl::StatusOr<BeaconModel> DecodeBeaconModel(std::string_view file);
// The file must hold a network. Errors: those of reading, of DecodeBeacon, naming the file.
absl::StatusOr<nn::BeaconNetwork> ReadBeaconNetwork(const std::string& path);
std::string EncodeBeaconModel(const BeaconModel& model);

// "network" or "geometry".
const char* EstimatorOf(const BeaconModel& model);
const nn::Provenance& ProvenanceOf(const BeaconModel& model);
nn::Provenance& ProvenanceOf(BeaconModel& model);

// Numbers in the survey: the inputs are the ranges, for each anchor those to all tags.
std::span<const int> AnchorsOf(const BeaconModel& model);
std::vector<int> TagsOf(const BeaconModel& model);
int TagOf(const BeaconModel& model);

}  // namespace tributary::cli
