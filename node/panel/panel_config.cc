#include "node/panel/panel_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "core/runtime/address.h"
#include "node/source/slot_stride.h"

namespace tributary::panel {
namespace {

constexpr double kMaxDistanceM = 1e6;  // a site is a room or an area
// The rate of the shortest slot, and less than once in a season; SlotStride checks the rest.
constexpr double kMostRateHz = 1e9 / estimate::SlotLength::kShortestNs;
constexpr double kLeastRateHz = 1e-7;

// The default is what the programmable logic computes.
fpga::NumberFormat ReadFormat(const config::ConfigSection& section, WorkloadKind workload) {
  const bool beacon = workload == WorkloadKind::kBeacon;
  const std::string name =
      beacon ? section.Choice("format", "int16", {"float", "int16"})
             : section.Choice("format", "int8_16", {"float", "int32", "int16", "int8", "int8_16"});
  return fpga::ParseNumberFormat(name).value_or(fpga::NumberFormat::kInt8Int16);
}

// The configuration names the wall, or it follows from the panel's orientation.
scene::Wall ReadWall(const config::ConfigSection& source, const config::ConfigSection& panel,
                     double orientation_deg) {
  constexpr scene::Wall kWalls[] = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth,
                                    scene::Wall::kWest};
  const bool named = source.Has("wall");
  const std::string name = source.Choice("wall", "south", {"south", "east", "north", "west"});
  for (const scene::Wall wall : kWalls) {
    const bool fits = std::abs(std::remainder(orientation_deg - scene::WallAngleDeg(wall), 360.0)) < 1e-6;
    if (named ? scene::WallName(wall) == name && (fits || !panel.Has("orientation_deg")) : fits) return wall;
  }
  panel.Fault(
      "orientation_deg",
      named ? fmt::format("{} does not fit the {} wall of the simulated room", orientation_deg, name)
            : fmt::format("expected 0, 90, 180 or 270 for a simulated room, found {}", orientation_deg));
  return scene::Wall::kSouth;
}

// The rate of a source that is paced by the slots.
double ReadRate(const config::ConfigSection& source, estimate::SlotLength slot) {
  const double rate_hz = source.Real("rate_hz", source::DefaultRateHz(slot), {kLeastRateHz, kMostRateHz});
  if (const auto stride = source::SlotStride(rate_hz, slot); !stride.ok()) {
    // Fault adds the key.
    source.Fault("rate_hz", std::string(absl::StripPrefix(stride.status().message(), "rate_hz: ")));
  }
  return rate_hz;
}

source::RoomSource::Options ReadRoom(const config::ConfigSection& source, const config::ConfigSection& panel,
                                     estimate::SlotLength slot, PanelConfig& config) {
  source::RoomSource::Options room;
  room.slot = slot;
  room.wall = ReadWall(source, panel, config.orientation_deg);
  config.orientation_deg = scene::WallAngleDeg(room.wall);
  room.subjects = static_cast<std::uint32_t>(source.Integer("subjects", 16, {1, kMaxSubjects}));
  room.rate_hz = ReadRate(source, slot);
  room.motion.seed = static_cast<std::uint64_t>(source.Integer("seed", 1, {0}));
  room.motion.snapshots =
      static_cast<std::uint32_t>(source.Integer("snapshots", room.motion.snapshots, {1, 1 << 20}));
  return room;
}

ReplayConfig ReadReplay(const config::ConfigSection& source, estimate::SlotLength slot) {
  ReplayConfig replay;
  replay.options.slot = slot;
  replay.file = source.File(source.RequiredText("file"));
  replay.options.rate_hz = ReadRate(source, slot);
  replay.options.loop = source.Boolean("loop", replay.options.loop);
  replay.options.first_subject = static_cast<std::uint32_t>(source.Integer("first_subject", 1, {0, 1 << 30}));
  return replay;
}

RangesConfig ReadRanges(const config::ConfigSection& source, estimate::SlotLength slot) {
  RangesConfig ranges;
  ranges.options.slot = slot;
  ranges.file = source.File(source.RequiredText("file"));
  ranges.triple_given = source.Has("anchors") || source.Has("tag");
  if (ranges.triple_given) {
    const std::vector<std::int64_t> anchors = source.Integers("anchors", {}, {0, scene::kAnchors - 1});
    if (anchors.size() != ranges.options.anchors.size()) {
      source.Fault(
          "anchors",
          fmt::format("expected {} anchors, found {}; without anchors and tag, the model's are taken",
                      ranges.options.anchors.size(), anchors.size()));
    } else {
      std::copy(anchors.begin(), anchors.end(), ranges.options.anchors.begin());
    }
    ranges.options.tag = static_cast<int>(source.Integer("tag", 0, {0, scene::kTags - 1}));
  }
  ranges.options.start_fraction = source.Real("start_fraction", 0, {0, 1});
  ranges.options.end_fraction = source.Real("end_fraction", 1, {0, 1});
  ranges.options.speed = source.Real("speed", 1, {0, 1e6});
  ranges.options.start_unix_ns = source.Integer("start_unix_ns", 0, {0});
  return ranges;
}

// Numeric only: a name could mean another machine tomorrow. Senders are compared as text, so one form is
// kept.
std::string ReadIpAddress(const config::ConfigSection& source, std::string_view key,
                          const std::string& default_value) {
  const std::string address = source.Text(key, default_value);
  if (address.empty() && default_value.empty()) return address;
  const absl::StatusOr<std::string> normal = runtime::NormalIpAddress(address);
  if (normal.ok()) return *normal;
  source.Fault(key, std::string(normal.status().message()));
  return default_value;
}

bool IsIpv6(const std::string& address) { return address.find(':') != std::string::npos; }

source::UdpSourceOptions ReadUdp(const config::ConfigSection& source, estimate::SlotLength slot,
                                 const std::string& panel) {
  source::UdpSourceOptions udp;
  udp.assembler.slot = slot;
  udp.panel = panel;
  udp.address = ReadIpAddress(source, "address", udp.address);
  udp.port = static_cast<std::uint16_t>(source.RequiredInteger("port", {0, 65'535}));
  udp.front_end = ReadIpAddress(source, "front_end", udp.front_end);
  if (!udp.front_end.empty() && IsIpv6(udp.front_end) != IsIpv6(udp.address)) {
    source.Fault("front_end", fmt::format("{} cannot send to address = \"{}\": one is IPv6, the other IPv4",
                                          udp.front_end, udp.address));
  }
  udp.assembler.panel = static_cast<std::uint16_t>(source.Integer("panel", 0, {0, 65'535}));
  udp.assembler.max_subjects = static_cast<std::uint16_t>(
      source.Integer("max_subjects", udp.assembler.max_subjects, {1, kMaxSubjects}));
  return udp;
}

SourceConfig ReadSource(const config::ConfigSection& panel, estimate::SlotLength slot, PanelConfig& config) {
  const config::ConfigSection source = panel.Section("source");
  if (!panel.Has("source")) panel.Fault("source", "a table [panel.source] with its kind is required");
  const std::string kind = source.Choice("kind", "room", {"room", "replay", "ranges", "udp"});
  if (kind == "replay") return ReadReplay(source, slot);
  if (kind == "ranges") return ReadRanges(source, slot);
  if (kind == "udp") return ReadUdp(source, slot, config.name);
  return ReadRoom(source, panel, slot, config);
}

}  // namespace

AcceleratorChoice ReadAccelerator(const config::ConfigSection& section) {
  AcceleratorChoice choice;
  if (section.Choice("accelerator", "cpu", {"cpu", "xrt"}) == "cpu") return choice;
  choice.kind = accelerator::AcceleratorKind::kXrt;
  choice.xrt.xclbin = section.File(section.RequiredText("xclbin"));
  choice.xrt.xclbin_uuid = section.Text("xclbin_uuid", "");
  choice.xrt.device = static_cast<unsigned>(section.Integer("device", 0, {0, 15}));
  choice.xrt.compute_units = static_cast<std::size_t>(section.Integer("compute_units", 1, {1, 16}));
  choice.xrt.frames_per_run = static_cast<std::size_t>(section.Integer("frames_per_run", 8, {1, 1024}));
  choice.xrt.run_timeout = std::chrono::milliseconds(section.Integer("run_timeout_ms", 2000, {1, 60000}));
  choice.xrt.fall_back_to_cpu = section.Choice("fallback", "none", {"none", "cpu"}) == "cpu";
  return choice;
}

PanelConfig ReadPanel(const config::ConfigSection& section, estimate::SlotLength slot) {
  PanelConfig panel;
  panel.name = section.RequiredName("name");
  panel.workload = section.Choice("workload", "positioning", {"positioning", "beacon"}) == "positioning"
                       ? WorkloadKind::kPositioning
                       : WorkloadKind::kBeacon;
  panel.model = section.File(section.RequiredText("model"));
  panel.accelerator = ReadAccelerator(section);
  panel.format = ReadFormat(section, panel.workload);
  panel.orientation_deg = section.Real("orientation_deg", 0, {-360, 360});
  panel.x_m = section.Real("x_m", 0, {-kMaxDistanceM, kMaxDistanceM});
  panel.y_m = section.Real("y_m", 0, {-kMaxDistanceM, kMaxDistanceM});
  panel.source = ReadSource(section, slot, panel);
  return panel;
}

}  // namespace tributary::panel
