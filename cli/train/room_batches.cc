#include "cli/train/room_batches.h"

#include <cmath>

#include "core/nn/positioning/positioning_inference.h"

namespace tributary::cli {
namespace {

// The network is the same for every wall: in the panel's frame the users are spread alike.
constexpr scene::Wall kTrainingWall = scene::Wall::kSouth;

}  // namespace

RoomBatches::RoomBatches(const scene::RoomExamples& examples, std::size_t batch,
                         const nn::PositioningNetwork& network, bool draw_ahead)
    : examples_(examples), batch_(batch), standardisation_(network) {
  for (Batch& buffer : buffers_) {
    buffer.features.resize(batch * scene::kChannelFeatures);
    buffer.targets.resize(batch * 2);
  }
  if (draw_ahead) thread_ = std::jthread([this](std::stop_token stop) { Produce(stop); });
}

const RoomBatches::Batch& RoomBatches::Next() {
  if (!thread_.joinable()) {
    Fill(buffers_[0]);
    return buffers_[0];
  }
  runtime::MutexLock lock(mutex_);
  released_ = taken_;
  changed_.notify_all();
  while (produced_ <= taken_) changed_.wait(lock);
  return buffers_[taken_++ % buffers_.size()];
}

void RoomBatches::Fill(Batch& batch) {
  for (std::size_t i = 0; i < batch_; ++i, ++next_example_) {
    const nn::FeatureSpan features(batch.features.data() + i * scene::kChannelFeatures,
                                   scene::kChannelFeatures);
    examples_.Sense(next_example_, kTrainingWall, features);
    nn::AlignPhase(features);
    nn::Standardise(standardisation_, features);
    const scene::RoomPosition user = scene::ToPanelFrame(kTrainingWall, examples_.User(next_example_));
    batch.targets[2 * i] = static_cast<float>(user.x);
    batch.targets[2 * i + 1] = static_cast<float>(user.y);
  }
}

void RoomBatches::Produce(std::stop_token stop) {
  for (std::uint64_t index = 0;; ++index) {
    {
      runtime::MutexLock lock(mutex_);
      const auto free = [&]() REQUIRES(mutex_) { return index < released_ + buffers_.size(); };
      if (!changed_.wait(lock, stop, free)) return;
    }
    Fill(buffers_[index % buffers_.size()]);
    runtime::MutexLock lock(mutex_);
    ++produced_;
    changed_.notify_all();
  }
}

void FitStandardisation(const scene::RoomExamples& examples, std::size_t count,
                        nn::PositioningNetwork& network) {
  std::vector<double> sum(scene::kChannelFeatures, 0.0);
  std::vector<double> squares(scene::kChannelFeatures, 0.0);
  std::vector<float> features(scene::kChannelFeatures);
  for (std::size_t i = 0; i < count; ++i) {
    const nn::FeatureSpan sample(features.data(), scene::kChannelFeatures);
    examples.Sense(i, kTrainingWall, sample);
    nn::AlignPhase(sample);
    for (std::size_t f = 0; f < scene::kChannelFeatures; ++f) {
      sum[f] += features[f];
      squares[f] += static_cast<double>(features[f]) * features[f];
    }
  }
  network.input_mean.resize(scene::kChannelFeatures);
  network.input_inverse_deviation.resize(scene::kChannelFeatures);
  for (std::size_t f = 0; f < scene::kChannelFeatures; ++f) {
    const double mean = sum[f] / static_cast<double>(count);
    const double variance = squares[f] / static_cast<double>(count) - mean * mean;
    network.input_mean[f] = static_cast<float>(mean);
    network.input_inverse_deviation[f] =
        variance > 1e-12 ? static_cast<float>(1.0 / std::sqrt(variance)) : 0.0f;
  }
}

}  // namespace tributary::cli
