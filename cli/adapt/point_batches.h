// Training batches of few labelled points, each time as other hardware and another moment would see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/adapt/labelled_points.h"
#include "cli/adapt/panel_estimates.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/positioning/phase_alignment.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/recordings/snapshot_augmentation.h"
#include "core/scene/room_plan.h"

namespace tributary::cli {

// Draws each example from the points and panels at random. The labels are positions in the true frame of each
// panel. One thread's.
class PointBatches {
 public:
  // `network` gives alignment and standardisation. All are copied.
  PointBatches(const LabelledPoints& points, const scene::RoomPlan& plan, const Mountings& mountings,
               const nn::PositioningNetwork& network, const recordings::SnapshotAugmentation& augmentation,
               std::uint64_t seed);

  // Fills features [n × 1024], standardised, and targets [n × 2].
  void Fill(std::span<float> features, std::span<float> targets);

 private:
  const LabelledPoints points_;
  const nn::PositioningNetwork standardisation_;
  const recordings::SnapshotAugmentation augmentation_;
  std::vector<scene::RoomPosition> labels_;  // [points × panels]
  nn::RandomStream random_;
};

}  // namespace tributary::cli
