#include "node/source/room_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room_channel.h"
#include "node/source/noisy_words.h"
#include "node/source/slot_stride.h"

namespace tributary::source {
namespace {

// A user right below a panel gives the strongest features, below 7. The rounding (variance step²/12) is 60 dB
// below the noise.
constexpr float kFeatureStep = 1.0f / 4096;
constexpr float kMaxWord = 32767.0f;

// 256 KiB: stays in the second-level cache. Slots draw from it at random places.
constexpr std::size_t kPoolWords = 1u << 17;

std::int16_t WordOf(float feature) {
  return static_cast<std::int16_t>(std::clamp(std::round(feature / kFeatureStep), -kMaxWord, kMaxWord));
}

absl::Status Validate(const RoomSource::Options& options) {
  if (const auto stride = SlotStride(options.rate_hz, options.slot); !stride.ok()) return stride.status();
  if (options.subjects < 1 || options.subjects > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("subjects: ", options.subjects, ", allowed are 1 to 1024"));
  }
  const std::uint64_t most =
      RoomSource::kMaxSnapshotBytes / (options.subjects * scene::kChannelFeatures * sizeof(std::int16_t));
  if (options.motion.snapshots < 1 || options.motion.snapshots > most) {
    return absl::InvalidArgumentError(absl::StrCat("snapshots: ", options.motion.snapshots,
                                                   ", allowed are 1 to ", most, " for ", options.subjects,
                                                   " subjects"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoomSource>> RoomSource::Create(const Options& options,
                                                               const runtime::Clock& clock) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::unique_ptr<RoomSource>(new RoomSource(options, clock));
}

RoomSource::RoomSource(const Options& options, const runtime::Clock& clock)
    : options_(options), clock_(clock), stride_(*SlotStride(options.rate_hz, options.slot)) {
  ComputeSnapshots();
  FillNoisePool();
}

void RoomSource::ComputeSnapshots() {
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

void RoomSource::FillNoisePool() {
  constexpr float kDeviationPerPart = static_cast<float>(scene::kNoiseDeviation / std::numbers::sqrt2);
  std::vector<float> noise(kPoolWords);
  scene::FillGaussianNoise(options_.motion.seed, static_cast<std::uint64_t>(options_.wall), noise);
  noise_.resize(kPoolWords);
  std::ranges::transform(noise, noise_.begin(),
                         [](float value) { return WordOf(kDeviationPerPart * value); });
}

absl::Status RoomSource::Next(std::stop_token stop, SensorFrame& frame) {
  const auto next_from = [this](estimate::Epoch epoch) { return (epoch / stride_ + 1) * stride_; };
  const estimate::Epoch now = options_.slot.EpochAt(clock_.UnixNs());
  if (next_epoch_ == 0) next_epoch_ = next_from(now);
  // Without this, a clock that was set back would stop the panel until it has caught up.
  if (next_epoch_ > next_from(now) + stride_) next_epoch_ = next_from(now);
  if (now > next_epoch_ + MaxLagSlots(stride_, options_.slot)) {
    const estimate::Epoch resumed = next_from(now);
    missed_frames_ += (resumed - next_epoch_) / stride_;
    next_epoch_ = resumed;
  }

  clock_.SleepUntil(options_.slot.StartNs(next_epoch_), stop);
  if (stop.stop_requested()) return absl::CancelledError("room source stopped");
  Sense(next_epoch_, frame);
  next_epoch_ += stride_;
  return absl::OkStatus();
}

void RoomSource::Sense(estimate::Epoch epoch, SensorFrame& frame) const {
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
    AddNoise(snapshots_.data() + first + i * scene::kChannelFeatures, noise_.data() + offset,
             scene::kChannelFeatures, kFeatureStep, frame.features.data() + i * scene::kChannelFeatures);
  }
}

}  // namespace tributary::source
