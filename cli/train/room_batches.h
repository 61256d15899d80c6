// Training batches of the simulated room, drawn ahead of the training.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/nn/positioning/positioning_network.h"
#include "core/runtime/mutex.h"
#include "core/scene/room_channel.h"

namespace tributary::cli {

// Phase-aligned, standardised examples in the panel's frame. No user is drawn twice: every epoch sees new
// positions and new noise. With `draw_ahead` it owns one thread, which waits while both buffers are full; the
// destructor stops and joins it. The batches are the same without.
class RoomBatches {
 public:
  struct Batch {
    std::vector<float> features;  // [batch × 1024]
    std::vector<float> targets;   // [batch × 2], m
  };

  // `network` gives the standardisation.
  RoomBatches(const scene::RoomExamples& examples, std::size_t batch, const nn::PositioningNetwork& network,
              bool draw_ahead);

  // Waits for the next batch; it stays valid until the next call. One thread calls.
  const Batch& Next() EXCLUDES(mutex_);

 private:
  void Fill(Batch& batch);
  void Produce(std::stop_token stop) EXCLUDES(mutex_);

  const scene::RoomExamples examples_;
  const std::size_t batch_;
  const nn::PositioningNetwork standardisation_;
  std::array<Batch, 2> buffers_;  // buffer i % 2 belongs to whoever is at batch i
  std::uint64_t next_example_ = 0;

  runtime::Mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t produced_ GUARDED_BY(mutex_) = 0;
  std::uint64_t released_ GUARDED_BY(mutex_) = 0;
  std::uint64_t taken_ = 0;  // the consumer's
  std::jthread thread_;      // none without draw_ahead; last: stops before the rest goes
};

// Mean and inverse deviation of the aligned features over `count` examples. A feature that never changes (the
// imaginary part that alignment clears) gets an inverse deviation of 0.
void FitStandardisation(const scene::RoomExamples& examples, std::size_t count,
                        nn::PositioningNetwork& network);

}  // namespace tributary::cli
