// Snapshots of an antenna panel as other hardware and another moment would have seen them.
#pragma once

#include "core/nn/kernel/random_stream.h"
#include "core/nn/positioning/phase_alignment.h"

namespace tributary::recordings {

// How much a snapshot is changed. None of it moves the user. Greatest values, drawn evenly from 0.
struct SnapshotAugmentation {
  double gain_db = 0.5;    // deviation of each antenna's gain
  double phase_deg = 5;    // deviation of each antenna's phase
  double clock_ns = 1;     // deviation of the user's clock
  double loudness_db = 1;  // of all antennas alike
  double noise = 0.1;      // deviation of each part, in units of the snapshot's root mean square
};

// One snapshot as it might have been received, in place.
void AugmentSnapshot(const SnapshotAugmentation& augmentation, nn::RandomStream& random,
                     nn::FeatureSpan features);

}  // namespace tributary::recordings
