// Training batches of the simulated room, drawn ahead of the training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <vector>

#include "core/nn/positioning/phase_alignment.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/scene/room_examples.h"

namespace tributary::cli {

// Phase-aligned, standardised examples in the panel's frame. No user is drawn twice: every epoch sees new
// positions and new noise. With `draw_ahead` another thread draws the next batch meanwhile; the destructor
// waits for it. The batches are the same without. One thread's.
class RoomBatches {
 public:
  struct Batch {
    std::vector<float> features;  // [batch × 1024]
    std::vector<float> targets;   // [batch × 2], m
  };

  // `network` gives the standardisation. Example i is that of the panel on walls[i % walls.size()]: one wall
  // is enough for a room whose walls are alike.
  RoomBatches(const scene::RoomExamples& examples, std::size_t batch, const nn::PositioningNetwork& network,
              bool draw_ahead, std::vector<scene::Wall> walls = {scene::Wall::kSouth});
  RoomBatches(const RoomBatches&) = delete;
  RoomBatches& operator=(const RoomBatches&) = delete;

  Batch Next();

 private:
  std::future<Batch> Draw();

  const scene::RoomExamples examples_;
  const std::size_t batch_;
  const nn::PositioningNetwork standardisation_;
  const std::launch launch_;
  const std::vector<scene::Wall> walls_;
  std::uint64_t next_example_ = 0;
  std::future<Batch> next_;  // last: it uses everything above
};

// Mean and inverse deviation of the aligned features over `count` examples, of which `sense` writes the ith.
// A feature that never changes (the imaginary part that alignment clears) gets an inverse deviation of 0.
void FitStandardisation(const std::function<void(std::size_t i, nn::FeatureSpan features)>& sense,
                        std::size_t count, nn::PositioningNetwork& network);
// The same of a panel in the simulated room.
void FitStandardisation(const scene::RoomExamples& examples, std::size_t count,
                        nn::PositioningNetwork& network);

}  // namespace tributary::cli
