// Fits a positioning network to a room: to its plan by simulation, then to labelled points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/adapt/labelled_points.h"
#include "cli/adapt/panel_estimates.h"
#include "cli/evaluate/position_errors.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/scene/room_plan.h"

namespace tributary::cli {

struct AdaptationOptions {
  std::uint64_t seed = 1;
  std::uint64_t plan_steps = 12'000;    // on the simulated plan
  std::uint64_t point_steps = 600;      // on the points
  std::uint64_t scratch_steps = 2'000;  // on the points, from nothing
  double plan_rate = 2e-3;
  double point_rate = 1e-4;
  double scratch_rate = 2e-3;
  std::size_t batch = 128;
  int threads = 2;  // the second draws the plan's users
};

// What a method found: a network with its covariance scale, and how the panels hang.
struct RoomModel {
  nn::PositioningNetwork network;
  Mountings mountings;
};

// `stage`: what is being trained. done of all steps.
using AdaptationProgress =
    std::function<void(std::string_view stage, std::uint64_t done, std::uint64_t all, double loss)>;

// Trains `base` further on users of the simulated room of this plan. Surfaces, objects, heights, clocks,
// antennas and mountings are drawn for each user, because a plan says nothing of them. The covariance scale
// is fitted on other users.
absl::StatusOr<nn::PositioningNetwork> LearnPlan(const nn::PositioningNetwork& base,
                                                 const scene::RoomPlan& plan,
                                                 const std::vector<scene::Wall>& walls,
                                                 const AdaptationOptions& options,
                                                 const AdaptationProgress& progress);

// These three hold one point in five out. The held-out points say after which tenth of the steps to stop
// (least mean error of the fused panels) and give the covariance scale; how the panels hang comes from the
// others. All of them train on points with the same Augmentation. Errors: those of Locate and FuseErrors.

// `network`, from LearnPlan: half of each batch are points, half users of the simulated plan, so that it does
// not forget what it knows of the rest of the room.
absl::StatusOr<RoomModel> LearnPoints(const nn::PositioningNetwork& network, const scene::RoomPlan& plan,
                                      const LabelledPoints& points, const AdaptationOptions& options,
                                      const AdaptationProgress& progress);

// `base` on the points alone.
absl::StatusOr<RoomModel> LearnPointsAlone(const nn::PositioningNetwork& base, const scene::RoomPlan& plan,
                                           const LabelledPoints& points, const AdaptationOptions& options,
                                           const AdaptationProgress& progress);

// Random weights on the points alone.
absl::StatusOr<RoomModel> LearnFromNothing(const scene::RoomPlan& plan, const LabelledPoints& points,
                                           const AdaptationOptions& options,
                                           const AdaptationProgress& progress);

absl::StatusOr<ErrorFigures> Judge(const RoomModel& model, fpga::NumberFormat format,
                                   const LabelledPoints& points, const scene::RoomPlan& plan);

}  // namespace tributary::cli
