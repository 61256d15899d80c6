#include "cli/train/room_batches.h"

#include <cmath>
#include <utility>

#include "core/nn/positioning/positioning_inference.h"

namespace tributary::cli {

RoomBatches::RoomBatches(const scene::RoomExamples& examples, std::size_t batch,
                         const nn::PositioningNetwork& network, bool draw_ahead,
                         std::vector<scene::Wall> walls)
    : examples_(examples),
      batch_(batch),
      standardisation_(network),
      launch_(draw_ahead ? std::launch::async : std::launch::deferred),
      walls_(std::move(walls)),
      next_(Draw()) {}

RoomBatches::Batch RoomBatches::Next() {
  Batch batch = next_.get();
  next_ = Draw();
  return batch;
}

std::future<RoomBatches::Batch> RoomBatches::Draw() {
  const std::uint64_t first = std::exchange(next_example_, next_example_ + batch_);
  return std::async(launch_, [this, first] {
    Batch batch{std::vector<float>(batch_ * scene::kChannelFeatures), std::vector<float>(batch_ * 2)};
    for (std::size_t i = 0; i < batch_; ++i) {
      const nn::FeatureSpan features(batch.features.data() + i * scene::kChannelFeatures,
                                     scene::kChannelFeatures);
      const scene::Wall wall = walls_[(first + i) % walls_.size()];
      examples_.Sense(first + i, wall, features);
      nn::AlignPhase(standardisation_.alignment, features);
      nn::Standardise(standardisation_, features);
      const scene::RoomPosition user = examples_.Label(first + i, wall);
      batch.targets[2 * i] = static_cast<float>(user.x);
      batch.targets[2 * i + 1] = static_cast<float>(user.y);
    }
    return batch;
  });
}

void FitStandardisation(const scene::RoomExamples& examples, std::size_t count,
                        nn::PositioningNetwork& network) {
  // The network is the same for every wall: in the panel's frame the users are spread alike.
  const auto sense = [&](std::size_t i, nn::FeatureSpan features) {
    examples.Sense(i, scene::Wall::kSouth, features);
  };
  FitStandardisation(sense, count, network);
}

void FitStandardisation(const std::function<void(std::size_t i, nn::FeatureSpan features)>& sense,
                        std::size_t count, nn::PositioningNetwork& network) {
  std::vector<double> sum(scene::kChannelFeatures, 0.0);
  std::vector<double> squares(scene::kChannelFeatures, 0.0);
  std::vector<float> features(scene::kChannelFeatures);
  for (std::size_t i = 0; i < count; ++i) {
    const nn::FeatureSpan sample(features.data(), scene::kChannelFeatures);
    sense(i, sample);
    nn::AlignPhase(network.alignment, sample);
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
