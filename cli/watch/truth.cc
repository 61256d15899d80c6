#include "cli/watch/truth.h"

#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/scene/recording.h"
#include "core/scene/room.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr absl::string_view kRoomPrefix = "room:";

absl::StatusOr<Truth> OpenRoom(const std::string& description) {
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
  // A panel of the room senses at the start of a slot.
  return [motion](std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot) -> PlanePosition {
    const scene::RoomPosition position = motion.At(subject, slot.StartNs(epoch));
    return std::array{position.x, position.y};
  };
}

}  // namespace

absl::StatusOr<Truth> OpenTruth(const std::string& description) {
  if (absl::StartsWith(description, kRoomPrefix)) return OpenRoom(description);
  ASSIGN_OR_RETURN(const std::string csv, runtime::ReadFile(description));
  ASSIGN_OR_RETURN(const auto capture, WithContext(description, scene::MotionCapture::Parse(csv)));
  // Samples of a recording lie anywhere in their slot: its middle is off by half a slot at most.
  return [capture](std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot) -> PlanePosition {
    if (subject >= scene::kTagPositionsM.size()) return std::nullopt;
    const std::int64_t middle_ns = std::midpoint(slot.StartNs(epoch), slot.EndNs(epoch));
    const std::optional<scene::Point3> point = capture.At(middle_ns, scene::kTagPositionsM[subject]);
    if (!point) return std::nullopt;
    return std::array{(*point)[0], (*point)[1]};
  };
}

}  // namespace tributary::cli
