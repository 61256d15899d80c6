#include "node/source/replay.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/macros.h"
#include "node/source/slot_pace.h"

namespace tributary::source {
namespace {

class ReplaySource final : public Source {
 public:
  ReplaySource(parameters::NpyArray recording, const ReplayOptions& options, SlotPace pace)
      : recording_(std::move(recording)), options_(options), pace_(pace) {}

  std::uint64_t missed_frames() const override { return pace_.missed_frames(); }

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    const std::size_t slots = recording_.shape.front();
    const std::size_t subjects = recording_.shape.size() == 3 ? recording_.shape[1] : 1;
    pace_.CatchUp();
    const std::uint64_t played = given_ + pace_.missed_frames();
    if (!options_.loop && played >= slots) return absl::OutOfRangeError("end of the recording");
    ASSIGN_OR_RETURN(frame.epoch, pace_.Wait(stop));
    ++given_;
    frame.captured_unix_ns = options_.slot.StartNs(frame.epoch);
    frame.subjects.resize(subjects);
    std::iota(frame.subjects.begin(), frame.subjects.end(), options_.first_subject);
    const std::size_t slot = options_.loop ? frame.epoch / pace_.stride() % slots : played;
    const auto count = static_cast<std::ptrdiff_t>(subjects * recording_.shape.back());
    const auto values = recording_.values.begin() + static_cast<std::ptrdiff_t>(slot) * count;
    frame.features.assign(values, values + count);
    return absl::OkStatus();
  }

 private:
  const parameters::NpyArray recording_;
  const ReplayOptions options_;
  SlotPace pace_;
  std::uint64_t given_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateReplay(parameters::NpyArray recording,
                                                     const ReplayOptions& options,
                                                     const runtime::Clock& clock) {
  if ((recording.shape.size() != 2 && recording.shape.size() != 3) || recording.values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("replay needs an array [slots, width] or [slots, subjects, width], not [",
                     absl::StrJoin(recording.shape, ", "), "]"));
  }
  ASSIGN_OR_RETURN(const SlotPace pace, SlotPace::Create(options.rate_hz, options.slot, clock));
  return std::make_unique<ReplaySource>(std::move(recording), options, pace);
}

}  // namespace tributary::source
