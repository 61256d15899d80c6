// What a network makes of labelled points: each panel's estimate, how the panels hang, and the fused errors.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/adapt/labelled_points.h"
#include "cli/evaluate/position_errors.h"
#include "core/estimate/gaussian.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/scene/room_examples.h"
#include "core/scene/room_plan.h"
#include "fpga/model/number_format.h"
#include "node/workload/workload.h"

namespace tributary::cli {

// [panels], in the order of LabelledPoints::walls.
using Mountings = std::vector<scene::PanelMounting>;

// [points × panels], each in its panel's frame, with the network's covariance scale. Errors: those of
// CreateAccelerator; Internal if an estimate is not usable.
absl::StatusOr<std::vector<estimate::Gaussian<2>>> Locate(const nn::PositioningNetwork& network,
                                                          fpga::NumberFormat format,
                                                          const LabelledPoints& points);

// How each panel hangs, other than the plan says, by the points at which its estimates and the truth differ:
// least squares with Student's t weights and a prior of 3 cm and 2 degrees, so that a panel without good
// estimates stays where the plan has it.
Mountings FitMountings(const std::vector<estimate::Gaussian<2>>& estimates, const LabelledPoints& points,
                       const scene::RoomPlan& plan);

// The pose to configure for a panel: [[panel]] x_m, y_m, angle_deg of its node.
workload::PanelPose PoseOf(const scene::RoomPlan& plan, scene::Wall wall,
                           const scene::PanelMounting& mounting);

// Errors of the panels' conflation at each point. Errors: as Conflate.
absl::StatusOr<PositionErrors> FuseErrors(const std::vector<estimate::Gaussian<2>>& estimates,
                                          const LabelledPoints& points, const scene::RoomPlan& plan,
                                          const Mountings& mountings);

}  // namespace tributary::cli
