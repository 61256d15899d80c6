#include "node/source/emitter_source.h"

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/radio/burst.h"
#include "core/status/macros.h"
#include "node/source/slot_pace.h"

namespace tributary::source {
namespace {

constexpr std::uint32_t kMaxEmitters = 1024;

absl::Status CheckEmitters(const EmitterSourceOptions& options) {
  if (options.subjects < 1 || options.subjects > kMaxEmitters) {
    return absl::InvalidArgumentError(
        absl::StrCat("subjects: ", options.subjects, ", allowed are 1 to ", kMaxEmitters));
  }
  if (options.emitter.frames_per_emission < 1) {
    return absl::InvalidArgumentError("frames_per_emission: 0, allowed are 1 and more");
  }
  const double lowest = options.emitter.lowest_snr_db;
  const double highest = options.emitter.highest_snr_db;
  if (!std::isfinite(lowest) || !std::isfinite(highest) || lowest > highest) {
    return absl::InvalidArgumentError(
        absl::StrCat("lowest_snr_db: ", lowest, " is above highest_snr_db, which is ", highest));
  }
  return absl::OkStatus();
}

// Owned by one thread.
class EmitterSource final : public Source {
 public:
  EmitterSource(const EmitterSourceOptions& options, radio::BurstGenerator generator, SlotPace pace)
      : options_(options), generator_(std::move(generator)), pace_(pace) {}

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    pace_.CatchUp();
    ASSIGN_OR_RETURN(frame.epoch, pace_.Wait(stop));
    frame.captured_unix_ns = options_.slot.StartNs(frame.epoch);
    frame.subjects.resize(options_.subjects);
    frame.features.resize(options_.subjects * radio::kBurstFeatures);
    const std::uint64_t number = frame.epoch / pace_.stride();
    for (std::uint32_t i = 0; i < options_.subjects; ++i) {
      const std::uint32_t emitter = i + 1;
      frame.subjects[i] = options_.first_subject + i;
      const auto burst = std::span(frame.features).subspan(i * radio::kBurstFeatures);
      const radio::Emission emission = radio::EmissionAt(options_.emitter, emitter, number);
      generator_.Generate(emission.modulation, emission.snr_db, radio::BurstIndex(emitter, number),
                          options_.receiver, burst.first<radio::kBurstFeatures>());
    }
    return absl::OkStatus();
  }

  std::uint64_t missed_frames() const override { return pace_.missed_frames(); }

 private:
  const EmitterSourceOptions options_;
  const radio::BurstGenerator generator_;
  SlotPace pace_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateEmitters(const EmitterSourceOptions& options,
                                                       const runtime::Clock& clock) {
  RETURN_IF_ERROR(CheckEmitters(options));
  ASSIGN_OR_RETURN(const SlotPace pace, SlotPace::Create(options.rate_hz, options.slot, clock));
  ASSIGN_OR_RETURN(radio::BurstGenerator generator,
                   radio::BurstGenerator::Create(options.burst, options.emitter.seed));
  return std::make_unique<EmitterSource>(options, std::move(generator), pace);
}

}  // namespace tributary::source
