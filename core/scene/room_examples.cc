#include "core/scene/room_examples.h"

#include <array>
#include <numbers>

#include "core/scene/gaussian_noise.h"
#include "core/scene/room_channel.h"

namespace tributary::scene {

RoomPosition RoomExamples::User(std::uint64_t index) const {
  return {kUserRangeM * (2 * UniformAt(seed, 2 * index) - 1),
          kUserRangeM * (2 * UniformAt(seed, 2 * index + 1) - 1)};
}

void RoomExamples::Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const {
  constexpr float kDeviationPerPart = static_cast<float>(kNoiseDeviation / std::numbers::sqrt2);
  ComputeRoomChannel(ToPanelFrame(wall, User(index)), features);
  std::array<float, kChannelFeatures> noise;
  FillGaussianNoise(~seed, 4 * index + static_cast<std::uint64_t>(wall), noise);
  for (std::size_t i = 0; i < kChannelFeatures; ++i) features[i] += kDeviationPerPart * noise[i];
}

}  // namespace tributary::scene
