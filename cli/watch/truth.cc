#include "cli/watch/truth.h"

#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/scene/ranges_motion.h"
#include "core/scene/room_motion.h"

namespace tributary::cli {
namespace {

constexpr absl::string_view kRoomPrefix = "room:";

class RoomTruth final : public Truth {
 public:
  explicit RoomTruth(const scene::RoomMotion& motion) : motion_(motion) {}

  // A panel of the room senses at the start of a slot.
  std::optional<std::array<double, 2>> At(std::uint32_t subject, estimate::Epoch epoch,
                                          estimate::SlotLength slot) const override {
    const scene::RoomPosition position = motion_.At(subject, slot.StartNs(epoch));
    return std::array{position.x, position.y};
  }

 private:
  const scene::RoomMotion motion_;
};

class MotionCaptureTruth final : public Truth {
 public:
  explicit MotionCaptureTruth(scene::MotionCapture capture) : capture_(std::move(capture)) {}

  // Samples of a recording lie anywhere in their slot: its middle is off by half a slot at most.
  std::optional<std::array<double, 2>> At(std::uint32_t subject, estimate::Epoch epoch,
                                          estimate::SlotLength slot) const override {
    if (subject >= scene::kTagPositionsM.size()) return std::nullopt;
    const std::int64_t middle_ns = std::midpoint(slot.StartNs(epoch), slot.EndNs(epoch));
    const std::optional<scene::Point3> point = capture_.At(middle_ns, scene::kTagPositionsM[subject]);
    if (!point) return std::nullopt;
    return std::array{(*point)[0], (*point)[1]};
  }

 private:
  const scene::MotionCapture capture_;
};

absl::StatusOr<std::unique_ptr<Truth>> OpenRoom(const std::string& description) {
  scene::RoomMotion motion;
  for (absl::string_view setting :
       absl::StrSplit(description.substr(kRoomPrefix.size()), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    const bool read = (parts.first == "seed" && absl::SimpleAtoi(parts.second, &motion.seed)) ||
                      (parts.first == "snapshots" && absl::SimpleAtoi(parts.second, &motion.snapshots) &&
                       motion.snapshots > 0);
    if (!read) {
      return UsageError(absl::StrCat("truth: \"", setting,
                                     "\" is not known; expected room:seed=N or room:seed=N,snapshots=N"));
    }
  }
  return std::make_unique<RoomTruth>(motion);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Truth>> OpenTruth(const std::string& description) {
  if (absl::StartsWith(description, kRoomPrefix)) return OpenRoom(description);
  const absl::StatusOr<std::string> csv = runtime::ReadFile(description);
  if (!csv.ok()) return csv.status();
  absl::StatusOr<scene::MotionCapture> capture = scene::MotionCapture::Parse(*csv);
  if (!capture.ok()) {
    return absl::Status(capture.status().code(), absl::StrCat(description, ": ", capture.status().message()));
  }
  return std::make_unique<MotionCaptureTruth>(*std::move(capture));
}

}  // namespace tributary::cli
