#include "node/source/room_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room_channel.h"
#include "core/status/macros.h"
#include "node/source/slot_pace.h"

namespace tributary::source {
namespace {

// A user right below a panel gives the strongest features, below 7. The rounding (variance step²/12) is 60 dB
// below the noise.
constexpr float kFeatureStep = 1.0f / 4096;
constexpr float kMaxWord = 32767.0f;

constexpr std::size_t kMaxSnapshotBytes = 256u << 20;

// 256 KiB: stays in the second-level cache. Slots draw from it at random places.
constexpr std::size_t kPoolWords = 1u << 17;

std::int16_t WordOf(float feature) {
  return static_cast<std::int16_t>(std::clamp(std::round(feature / kFeatureStep), -kMaxWord, kMaxWord));
}

// Owned by one thread.
class RoomSource final : public Source {
 public:
  RoomSource(const RoomSourceOptions& options, SlotPace pace) : options_(options), pace_(pace) {
    ComputeSnapshots();
    FillNoisePool();
  }

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    pace_.CatchUp();
    ASSIGN_OR_RETURN(const estimate::Epoch epoch, pace_.Wait(stop));
    Sense(epoch, frame);
    return absl::OkStatus();
  }

  std::uint64_t missed_frames() const override { return pace_.missed_frames(); }

 private:
  void ComputeSnapshots() {
    snapshots_.resize(std::size_t{options_.motion.snapshots} * options_.subjects * scene::kChannelFeatures);
    std::array<float, scene::kChannelFeatures> features;
    auto word = snapshots_.begin();
    for (std::uint32_t snapshot = 0; snapshot < options_.motion.snapshots; ++snapshot) {
      for (std::uint32_t subject = 1; subject <= options_.subjects; ++subject) {
        scene::ComputeRoomChannel(
            scene::ToPanelFrame(options_.wall, options_.motion.AtSnapshot(subject, snapshot)), features);
        word = std::ranges::transform(features, word, WordOf).out;
      }
    }
  }

  void FillNoisePool() {
    constexpr float kDeviationPerPart = static_cast<float>(scene::kNoiseDeviation / std::numbers::sqrt2);
    std::vector<float> noise(kPoolWords);
    scene::FillGaussianNoise(options_.motion.seed, static_cast<std::uint64_t>(options_.wall), noise);
    noise_.resize(kPoolWords);
    std::ranges::transform(noise, noise_.begin(),
                           [](float value) { return WordOf(kDeviationPerPart * value); });
  }

  void Sense(estimate::Epoch epoch, SensorFrame& frame) const {
    const std::uint32_t subjects = options_.subjects;
    frame.epoch = epoch;
    frame.captured_unix_ns = options_.slot.StartNs(epoch);
    frame.subjects.resize(subjects);
    frame.features.resize(subjects * scene::kChannelFeatures);
    const std::size_t first =
        std::size_t{options_.motion.SnapshotAt(frame.captured_unix_ns)} * subjects * scene::kChannelFeatures;
    const std::uint64_t noise_seed =
        scene::MixBits(options_.motion.seed, epoch * 4 + static_cast<std::uint64_t>(options_.wall));
    for (std::uint32_t i = 0; i < subjects; ++i) {
      frame.subjects[i] = i + 1;
      const std::size_t offset = scene::MixBits(noise_seed, i) % (kPoolWords - scene::kChannelFeatures + 1);
      const std::int16_t* channel = snapshots_.data() + first + i * scene::kChannelFeatures;
      const std::int16_t* noise = noise_.data() + offset;
      float* features = frame.features.data() + i * scene::kChannelFeatures;
      // int: no sum overflows.
      for (std::size_t k = 0; k < scene::kChannelFeatures; ++k) {
        features[k] = kFeatureStep * static_cast<float>(channel[k] + noise[k]);
      }
    }
  }

  const RoomSourceOptions options_;
  SlotPace pace_;
  std::vector<std::int16_t> snapshots_;  // [snapshots × subjects × 1024], units of kFeatureStep
  std::vector<std::int16_t> noise_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateRoom(const RoomSourceOptions& options,
                                                   const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(const SlotPace pace, SlotPace::Create(options.rate_hz, options.slot, clock));
  if (options.subjects < 1 || options.subjects > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("subjects: ", options.subjects, ", allowed are 1 to 1024"));
  }
  const std::uint64_t most =
      kMaxSnapshotBytes / (options.subjects * scene::kChannelFeatures * sizeof(std::int16_t));
  if (options.motion.snapshots < 1 || options.motion.snapshots > most) {
    return absl::InvalidArgumentError(absl::StrCat("snapshots: ", options.motion.snapshots,
                                                   ", allowed are 1 to ", most, " for ", options.subjects,
                                                   " subjects"));
  }
  return std::make_unique<RoomSource>(options, pace);
}

}  // namespace tributary::source
