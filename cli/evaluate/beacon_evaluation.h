// Errors of beacon networks on a recording, one by one and conflated, beside Gauss-Newton from the same
// ranges.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/evaluate/position_errors.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_network.h"
#include "fpga/model/number_format.h"

namespace tributary::cli {

struct BeaconErrors {
  PositionErrors network;
  PositionErrors gauss_newton;
};

struct BeaconEvaluation {
  std::size_t samples = 0;
  std::vector<BeaconErrors> boards;    // in the order of the networks
  BeaconErrors fused;                  // conflation of the boards; the ranges of all boards' anchors together
  double gauss_newton_height_m = 0.0;  // the tag's mean true height
};

struct BeaconEvaluationOptions {
  RecordingPart part;
  fpga::NumberFormat format = fpga::NumberFormat::kInt16;
};

// Runs what a board runs: accelerator and workload, then conflation. Only rows that have every board's ranges
// count. Errors: InvalidArgument if the networks are for different tags or no row is left; as
// CreateAccelerator.
absl::StatusOr<BeaconEvaluation> EvaluateBeacons(std::span<const nn::BeaconNetwork> networks,
                                                 const BeaconRecording& recording,
                                                 const BeaconEvaluationOptions& options);

nlohmann::ordered_json ToJson(const BeaconEvaluation& evaluation,
                              std::span<const nn::BeaconNetwork> networks);

// A table for the terminal, one line per board and one for the fusion.
std::string ToTable(const BeaconEvaluation& evaluation, std::span<const nn::BeaconNetwork> networks);

}  // namespace tributary::cli
