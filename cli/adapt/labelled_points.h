// Snapshots of a room's panels whose true position somebody has measured.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/positioning/phase_alignment.h"
#include "core/scene/room_examples.h"
#include "core/scene/room_plan.h"

namespace tributary::cli {

inline constexpr std::size_t kFewestLabelledPoints = 10;

struct LabelledPoints {
  std::vector<scene::Wall> walls;              // those that carry the panels, in the order of the features
  std::vector<scene::RoomPosition> positions;  // site frame, m
  std::vector<float> features;                 // raw, [points × panels × 1024]

  std::size_t size() const { return positions.size(); }
  nn::ConstFeatureSpan Features(std::size_t point, std::size_t panel) const {
    return std::span(features)
        .subspan((point * walls.size() + panel) * nn::PositioningNetwork::kInputs)
        .first<nn::PositioningNetwork::kInputs>();
  }
  // These points only, in this order.
  LabelledPoints Subset(std::span<const std::size_t> points) const;
};

// `features`: float32 or float64 in NumPy's format, [points, panels, 1024] with the panels in the order of
// `walls`; [points, 1024] for one panel. `positions`: as recordings::ParsePositions. Errors: those of the
// files and of CheckLabelledPoints, naming the file; InvalidArgument for another shape or another number of
// positions.
absl::StatusOr<LabelledPoints> ReadLabelledPoints(const std::string& features, const std::string& positions,
                                                  const std::vector<scene::Wall>& walls,
                                                  const scene::RoomPlan& plan);

// InvalidArgument, with what to do: fewer than kFewestLabelledPoints, features that are not finite or are all
// zero, positions outside of the room, and positions that all lie within half a metre of each other.
absl::Status CheckLabelledPoints(const LabelledPoints& points, const scene::RoomPlan& plan);

// The users [0, count) of the examples.
LabelledPoints SimulatePoints(const scene::RoomExamples& room, const std::vector<scene::Wall>& walls,
                              std::size_t count);

}  // namespace tributary::cli
