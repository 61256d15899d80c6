#include "core/truth/truth.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/estimate/slot_stride.h"
#include "core/radio/burst_generator.h"
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
    "generator:seed=N,rate_hz=HZ, and frames_per_emission=N, count=N, lowest_snr_db=DB, highest_snr_db=DB, "
    "domain=foreign or snr=label where the source has them";
constexpr double kMaxSnrDb = 200;

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

// What an emitter source is told.
struct Generator {
  radio::EmitterOptions emitter;
  radio::BurstOptions burst = radio::ReferenceDomain();
  double rate_hz = 0;
  std::uint32_t count = 0;

  // The emitter that is a subject.
  std::uint32_t EmitterOf(std::uint32_t subject) const {
    return count > 0 && subject > 0 ? (subject - 1) % count + 1 : subject;
  }
};

bool ReadSnr(absl::string_view value, double& snr_db) {
  return absl::SimpleAtod(value, &snr_db) && std::abs(snr_db) <= kMaxSnrDb;
}

bool ReadPositive(absl::string_view value, std::uint32_t& number) {
  return absl::SimpleAtoi(value, &number) && number > 0;
}

bool ReadGeneratorKey(absl::string_view key, absl::string_view value, Generator& generator) {
  radio::EmitterOptions& emitter = generator.emitter;
  if (key == "seed") return absl::SimpleAtoi(value, &emitter.seed);
  if (key == "rate_hz") return absl::SimpleAtod(value, &generator.rate_hz) && generator.rate_hz > 0;
  if (key == "count") return absl::SimpleAtoi(value, &generator.count);
  if (key == "frames_per_emission") return ReadPositive(value, emitter.frames_per_emission);
  if (key == "lowest_snr_db") return ReadSnr(value, emitter.lowest_snr_db);
  if (key == "highest_snr_db") return ReadSnr(value, emitter.highest_snr_db);
  if (key == "domain" && value == "foreign") {
    const radio::SnrDefinition snr = generator.burst.snr;
    generator.burst = radio::ForeignDomain();
    generator.burst.snr = snr;
    return true;
  }
  if (key == "snr" && value == "label") generator.burst.snr = radio::SnrDefinition::kLabel;
  return (key == "domain" && value == "reference") || (key == "snr" && (value == "label" || value == "true"));
}

absl::StatusOr<Generator> ReadGenerator(absl::string_view settings) {
  Generator generator;
  RETURN_IF_ERROR(
      ReadSettings(settings, kGeneratorExpected, [&](absl::string_view key, absl::string_view value) {
        return ReadGeneratorKey(key, value, generator);
      }));
  if (generator.rate_hz == 0) {
    return absl::InvalidArgumentError("the generator needs rate_hz, that of the source");
  }
  if (generator.emitter.lowest_snr_db > generator.emitter.highest_snr_db) {
    return absl::InvalidArgumentError("lowest_snr_db is above highest_snr_db");
  }
  return generator;
}

absl::StatusOr<Truth> OpenGenerator(absl::string_view settings) {
  ASSIGN_OR_RETURN(const Generator generator, ReadGenerator(settings));
  return [generator](std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot) -> TrueState {
    const absl::StatusOr<std::uint64_t> stride = estimate::SlotStride(generator.rate_hz, slot);
    if (!stride.ok()) return {};
    const std::uint32_t emitter = generator.EmitterOf(subject);
    return radio::ModulationName(radio::EmissionAt(generator.emitter, emitter, epoch / *stride).modulation);
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

absl::StatusOr<Bursts> SimulatedBursts(absl::string_view description) {
  RETURN_IF_ERROR(Simulation(description).status());
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(description, absl::MaxSplits(':', 1));
  if (parts.first != kGenerator) return Bursts();
  ASSIGN_OR_RETURN(const Generator generator, ReadGenerator(parts.second));
  ASSIGN_OR_RETURN(const radio::BurstGenerator bursts,
                   radio::BurstGenerator::Create(generator.burst, generator.emitter.seed));
  return [generator, bursts](std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot,
                             std::uint32_t receiver) -> std::optional<SimulatedBurst> {
    const absl::StatusOr<std::uint64_t> stride = estimate::SlotStride(generator.rate_hz, slot);
    if (!stride.ok() || epoch % *stride != 0) return std::nullopt;
    const std::uint32_t emitter = generator.EmitterOf(subject);
    const std::uint64_t frame = epoch / *stride;
    const radio::Emission emission = radio::EmissionAt(generator.emitter, emitter, frame);
    SimulatedBurst burst{.modulation = radio::ModulationName(emission.modulation), .snr_db = emission.snr_db};
    bursts.Generate(emission.modulation, emission.snr_db, radio::BurstIndex(emitter, frame), receiver,
                    burst.samples);
    return burst;
  };
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
