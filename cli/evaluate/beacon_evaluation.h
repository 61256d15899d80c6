// Errors of boards that estimate from ranges, on a recording: one by one, conflated and tracked, beside
// Gauss-Newton.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/evaluate/beacon_model.h"
#include "cli/evaluate/position_errors.h"
#include "cli/train/beacon_recording.h"
#include "fpga/model/number_format.h"

namespace tributary::cli {

struct BeaconErrors {
  PositionErrors estimate;
  PositionErrors gauss_newton;  // of the tag's ranges, as they are
};

struct BeaconEvaluation {
  std::size_t samples = 0;
  std::size_t unusable = 0;          // estimates that a board did not give
  std::vector<BeaconErrors> boards;  // in the order of the models
  BeaconErrors fused;                // conflation of the boards; the ranges of all boards' anchors together
  PositionErrors tracked;            // the fused positions through estimate::MotionTrack
  PositionErrors corrected;  // Gauss-Newton of the tag's ranges to all anchors of the survey, each less
                             // the median of its errors on the rest of the recording
  double gauss_newton_height_m = 0.0;  // the tag's mean true height
};

struct BeaconEvaluationOptions {
  RecordingPart part;
  fpga::NumberFormat format = fpga::NumberFormat::kInt16;  // of networks
};

// Runs what a board runs: accelerator and workload, then conflation. Only rows that have every board's ranges
// count. The rest of the recording, for `corrected`, is what lies outside the part by time or by place; the
// part itself if nothing does. Errors: InvalidArgument if the models are for different tags or no row is
// left; as CreateAccelerator.
absl::StatusOr<BeaconEvaluation> EvaluateBeacons(std::span<const BeaconModel> models,
                                                 const BeaconRecording& recording,
                                                 const BeaconEvaluationOptions& options);

nlohmann::ordered_json ToJson(const BeaconEvaluation& evaluation, std::span<const BeaconModel> models);

// A table for the terminal, one line per board and one for the fusion.
std::string ToTable(const BeaconEvaluation& evaluation, std::span<const BeaconModel> models);

}  // namespace tributary::cli
