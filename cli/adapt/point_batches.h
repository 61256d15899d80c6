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
#include "core/scene/room_plan.h"

namespace tributary::cli {

// How much a snapshot is changed. None of it moves the user. Greatest values, drawn evenly from 0.
struct Augmentation {
  double gain_db = 0.5;    // deviation of each antenna's gain
  double phase_deg = 5;    // deviation of each antenna's phase
  double clock_ns = 1;     // deviation of the user's clock
  double loudness_db = 1;  // of all antennas alike
  double noise = 0.1;      // deviation of each part, in units of the snapshot's root mean square
};

// Draws each example from the points and panels at random. The labels are positions in the true frame of each
// panel. One thread's.
class PointBatches {
 public:
  // `network` gives alignment and standardisation. All are copied.
  PointBatches(const LabelledPoints& points, const scene::RoomPlan& plan, const Mountings& mountings,
               const nn::PositioningNetwork& network, const Augmentation& augmentation, std::uint64_t seed);

  // Fills features [n × 1024], standardised, and targets [n × 2].
  void Fill(std::span<float> features, std::span<float> targets);

 private:
  const LabelledPoints points_;
  const nn::PositioningNetwork standardisation_;
  const Augmentation augmentation_;
  std::vector<scene::RoomPosition> labels_;  // [points × panels]
  nn::RandomStream random_;
};

// One snapshot as it might have been received, in place.
void Augment(const Augmentation& augmentation, nn::RandomStream& random, nn::FeatureSpan features);

}  // namespace tributary::cli
