// Errors of the positioning network on held-out users of the simulated room, for one to four panels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "cli/evaluate/position_errors.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/scene/room_examples.h"
#include "fpga/model/number_format.h"

namespace tributary::cli {

nlohmann::ordered_json ToJsonInCm(const ErrorFigures& figures);

struct PositioningEvaluationOptions {
  fpga::NumberFormat format = fpga::NumberFormat::kFloat;
  std::size_t points = 4'000;
  std::uint64_t seed = 20'260;  // of the users; none of them was trained on
  scene::RoomConditions conditions = {};
  // As if an aggregator had calibrated the panels for a minute: on 600 moments of 16 other users.
  bool calibrated = false;
};

// [i]: the first i + 1 of the south, east, north and west panel, conflated.
using PositioningEvaluation = std::array<ErrorFigures, 4>;

// Runs what a node runs: accelerator, workload, then conflation. Errors: as CreateAccelerator; Internal if a
// tuple is not usable.
absl::StatusOr<PositioningEvaluation> EvaluatePositioning(const nn::PositioningNetwork& network,
                                                          const PositioningEvaluationOptions& options);

}  // namespace tributary::cli
