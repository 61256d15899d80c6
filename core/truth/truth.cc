#include "core/truth/truth.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/estimate/slot_stride.h"
#include "core/radio/emitter.h"
#include "core/radio/modulation.h"
#include "core/runtime/file.h"
#include "core/scene/recording.h"
#include "core/scene/room.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/survey/survey_file.h"

namespace tributary::truth {
namespace {

constexpr absl::string_view kRoom = "room";
constexpr absl::string_view kGenerator = "generator";
constexpr std::string_view kSurvey = ",survey=";
constexpr absl::string_view kRoomExpected = "room:seed=N or room:seed=N,snapshots=N";
constexpr absl::string_view kGeneratorExpected =
    "generator:seed=N,rate_hz=HZ, and frames_per_emission=N or count=N where the source has them";

// Reads "key=value,key=value" by `read`, which gives false for what it does not know. Errors:
// InvalidArgument with `expected`.
template <typename Read>
absl::Status ReadSettings(absl::string_view settings, absl::string_view expected, const Read& read) {
  for (absl::string_view setting : absl::StrSplit(settings, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    if (!read(parts.first, parts.second)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", setting, "\" is not known; expected ", expected));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Truth> OpenRoom(absl::string_view settings) {
  scene::RoomMotion motion;
  const auto read = [&motion](absl::string_view key, absl::string_view value) {
    return (key == "seed" && absl::SimpleAtoi(value, &motion.seed)) ||
           (key == "snapshots" && absl::SimpleAtoi(value, &motion.snapshots) && motion.snapshots > 0);
  };
  RETURN_IF_ERROR(ReadSettings(settings, kRoomExpected, read));
  // A panel of the room senses at the start of a slot.
  return [motion](std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot) -> TrueState {
    const scene::RoomPosition position = motion.At(subject, slot.StartNs(epoch));
    return PlanePosition{position.x, position.y};
  };
}

absl::StatusOr<Truth> OpenGenerator(absl::string_view settings) {
  radio::EmitterOptions options;
  double rate_hz = 0;
  std::uint32_t count = 0;
  const auto read = [&](absl::string_view key, absl::string_view value) {
    return (key == "seed" && absl::SimpleAtoi(value, &options.seed)) ||
           (key == "rate_hz" && absl::SimpleAtod(value, &rate_hz) && rate_hz > 0) ||
           (key == "count" && absl::SimpleAtoi(value, &count)) ||
           (key == "frames_per_emission" && absl::SimpleAtoi(value, &options.frames_per_emission) &&
            options.frames_per_emission > 0);
  };
  RETURN_IF_ERROR(ReadSettings(settings, kGeneratorExpected, read));
  if (rate_hz == 0) return absl::InvalidArgumentError("the generator needs rate_hz, that of the source");
  return [options, rate_hz, count](std::uint32_t subject, estimate::Epoch epoch,
                                   estimate::SlotLength slot) -> TrueState {
    const absl::StatusOr<std::uint64_t> stride = estimate::SlotStride(rate_hz, slot);
    if (!stride.ok()) return {};
    const std::uint32_t emitter = count > 0 && subject > 0 ? (subject - 1) % count + 1 : subject;
    return radio::ModulationName(radio::EmissionAt(options, emitter, epoch / *stride).modulation);
  };
}

}  // namespace

bool IsSimulation(absl::string_view description) {
  return description == kRoom || description == kGenerator ||
         absl::StartsWith(description, absl::StrCat(kRoom, ":")) ||
         absl::StartsWith(description, absl::StrCat(kGenerator, ":"));
}

absl::StatusOr<Truth> Simulation(absl::string_view description) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(description, absl::MaxSplits(':', 1));
  const auto& [kind, settings] = parts;
  if (!IsSimulation(description)) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", kRoomExpected, "; or ", kGeneratorExpected));
  }
  if (settings.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", description, "\" needs settings: ", kind == kRoom ? kRoomExpected : kGeneratorExpected));
  }
  return kind == kRoom ? OpenRoom(settings) : OpenGenerator(settings);
}

absl::StatusOr<Truth> OpenTruth(const std::string& description) {
  if (IsSimulation(description)) return Simulation(description);
  const std::size_t comma = description.rfind(kSurvey);
  const bool surveyed = comma != description.npos;
  const std::string file = description.substr(0, comma);
  ASSIGN_OR_RETURN(const scene::Survey survey,
                   survey::ReadSurvey(surveyed ? description.substr(comma + kSurvey.size()) : ""));
  ASSIGN_OR_RETURN(const std::string csv, runtime::ReadFile(file));
  ASSIGN_OR_RETURN(const auto capture, WithContext(file, scene::MotionCapture::Parse(csv, survey)));
  // Samples of a recording lie anywhere in their slot: its middle is off by half a slot at most.
  return [capture, tags_m = survey.tags_m](std::uint32_t subject, estimate::Epoch epoch,
                                           estimate::SlotLength slot) -> TrueState {
    if (subject >= tags_m.size()) return {};
    const std::int64_t middle_ns = std::midpoint(slot.StartNs(epoch), slot.EndNs(epoch));
    const std::optional<scene::Point3> point = capture.At(middle_ns, tags_m[subject]);
    if (!point) return {};
    return PlanePosition{(*point)[0], (*point)[1]};
  };
}

}  // namespace tributary::truth
