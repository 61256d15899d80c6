#include "node/panel/panel_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "core/runtime/address.h"
#include "node/source/slot_pace.h"

namespace tributary::panel {
namespace {

constexpr double kMaxDistanceM = 1e6;  // a site is a room or an area
// The rate of the shortest slot, and less than once in a season; SlotStride checks the rest.
constexpr double kMostRateHz = 1e9 / estimate::SlotLength::kShortestNs;
constexpr double kLeastRateHz = 1e-7;

// The default is what the programmable logic computes.
fpga::NumberFormat ReadFormat(const config::ConfigSection& section, WorkloadKind workload) {
  using Names = std::vector<std::string_view>;
  const bool beacon = workload == WorkloadKind::kBeacon;
  const std::string name =
      section.Choice("format", beacon ? "int16" : "int8_16",
                     beacon ? Names{"float", "int16"} : Names{"float", "int32", "int16", "int8", "int8_16"},
                     "of the arithmetic; for a beacon: float, int16, by default int16");
  return fpga::ParseNumberFormat(name).value_or(fpga::NumberFormat::kInt8Int16);
}

// The configuration names the wall, or it follows from the panel's orientation.
scene::Wall ReadWall(const config::ConfigSection& source, const config::ConfigSection& panel,
                     double orientation_deg) {
  constexpr scene::Wall kWalls[] = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth,
                                    scene::Wall::kWest};
  const bool named = source.Has("wall");
  const std::string name = source.Choice("wall", "south", {"south", "east", "north", "west"},
                                         "default: follows from orientation_deg");
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
  const double rate_hz = source.Real(
      "rate_hz", source::DefaultRateHz(slot), {kLeastRateHz, kMostRateHz},
      "1000 / slot_ms divided by a whole number; default: one frame per slot, at most 2000 a second");
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
  room.subjects =
      static_cast<std::uint32_t>(source.Integer("subjects", 16, {1, kMaxSubjects}, "users in the room"));
  room.rate_hz = ReadRate(source, slot);
  room.motion.seed = static_cast<std::uint64_t>(source.Integer("seed", 1, {0}, "of users and noise"));
  room.motion.snapshots = static_cast<std::uint32_t>(
      source.Integer("snapshots", room.motion.snapshots, {1, 1 << 20},
                     "positions of each user; 2 KiB of memory for each user and snapshot"));
  return room;
}

ReplayConfig ReadReplay(const config::ConfigSection& source, estimate::SlotLength slot) {
  ReplayConfig replay;
  replay.options.slot = slot;
  replay.file =
      source.File(source.RequiredText("file", "one array [slots, features] or [slots, subjects, features]"));
  replay.options.rate_hz = ReadRate(source, slot);
  replay.options.loop = source.Boolean("loop", replay.options.loop, "true: begin again at the end");
  replay.options.first_subject = static_cast<std::uint32_t>(
      source.Integer("first_subject", 1, {0, 1 << 30}, "subjects are numbered from here"));
  return replay;
}

RangesConfig ReadRanges(const config::ConfigSection& source, estimate::SlotLength slot) {
  RangesConfig ranges;
  ranges.options.slot = slot;
  ranges.file = source.File(source.RequiredText("file", "CSV recording"));
  ranges.triple_given = source.Has("anchors") || source.Has("tag");
  if (ranges.triple_given) {
    const std::vector<std::int64_t> anchors =
        source.Integers("anchors", {}, {0, scene::kAnchors - 1},
                        "default: the model's. If anchors and tag are given, they must be the model's");
    if (anchors.size() != ranges.options.anchors.size()) {
      source.Fault(
          "anchors",
          fmt::format("expected {} anchors, found {}; without anchors and tag, the model's are taken",
                      ranges.options.anchors.size(), anchors.size()));
    } else {
      std::copy(anchors.begin(), anchors.end(), ranges.options.anchors.begin());
    }
    ranges.options.tag =
        static_cast<int>(source.Integer("tag", 0, {0, scene::kTags - 1}, "default: the model's"));
  }
  ranges.options.start_fraction =
      source.Real("start_fraction", 0, {0, 1}, "the part of the recording that is played, by time");
  ranges.options.end_fraction =
      source.Real("end_fraction", 1, {0, 1}, "the part of the recording that is played, by time");
  ranges.options.speed = source.Real("speed", 1, {0, 1e6}, "times real time; 0: as fast as the node reads");
  ranges.options.start_unix_ns =
      source.Integer("start_unix_ns", 0, {0}, "when the first row is due; 0: at once");
  return ranges;
}

// Numeric only: a name could mean another machine tomorrow. In one form, since addresses are compared as
// text.
std::string ReadIpAddress(const config::ConfigSection& source, std::string_view key,
                          const std::string& default_value, config::Help help) {
  const std::string address = source.Text(key, default_value, help);
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
  udp.address = ReadIpAddress(source, "address", udp.address, "numeric address to listen on");
  udp.port = static_cast<std::uint16_t>(
      source.RequiredInteger("port", {0, 65'535}, "0: any free port, which the log names"));
  udp.front_end = ReadIpAddress(source, "front_end", udp.front_end,
                                "numeric address of the only sender that is heard; \"\": any");
  if (!udp.front_end.empty() && IsIpv6(udp.front_end) != IsIpv6(udp.address)) {
    source.Fault("front_end", fmt::format("{} cannot send to address = \"{}\": one is IPv6, the other IPv4",
                                          udp.front_end, udp.address));
  }
  udp.assembler.panel = static_cast<std::uint16_t>(
      source.Integer("panel", 0, {0, 65'535}, "number of this panel in the datagrams"));
  udp.assembler.max_subjects = static_cast<std::uint16_t>(
      source.Integer("max_subjects", udp.assembler.max_subjects, {1, kMaxSubjects}, "per slot"));
  return udp;
}

SourceConfig ReadSource(const config::ConfigSection& panel, estimate::SlotLength slot, PanelConfig& config) {
  const config::ConfigSection source = panel.Section("source");
  if (!panel.Has("source")) panel.Fault("source", "a table [panel.source] with its kind is required");
  const std::string kind =
      source.Choice("kind", "room", {"room", "replay", "ranges", "udp"}, "where its samples come from");
  if (kind == "replay") return ReadReplay(source, slot);
  if (kind == "ranges") return ReadRanges(source, slot);
  if (kind == "udp") return ReadUdp(source, slot, config.name);
  return ReadRoom(source, panel, slot, config);
}

}  // namespace

accelerator::AcceleratorConfig ReadAccelerator(const config::ConfigSection& section) {
  accelerator::AcceleratorConfig accelerator{.max_batch = kMaxSubjects};
  if (section.Choice("accelerator", "cpu", {"cpu", "xrt"},
                     "xrt: a board, with the keys from xclbin on; [fusion] needs the kernel fusion_kernel in "
                     "the xclbin") == "cpu")
    return accelerator;
  accelerator::XrtOptions& xrt = accelerator.xrt.emplace();
  xrt.xclbin = section.File(section.RequiredText("xclbin", "a file; only with xrt"));
  xrt.xclbin_uuid = section.Text("xclbin_uuid", "", "refuse an xclbin with another UUID");
  xrt.device = static_cast<unsigned>(section.Integer("device", 0, {0, 15}, "index of the board"));
  xrt.compute_units = static_cast<std::size_t>(
      section.Integer("compute_units", 1, {1, 16}, "of the kernel, for this panel alone"));
  xrt.frames_per_run = static_cast<std::size_t>(
      section.Integer("frames_per_run", 8, {1, 1024}, "subjects per start of a kernel"));
  xrt.run_timeout = std::chrono::milliseconds(section.Integer(
      "run_timeout_ms", 2000, {1, 60000}, "then the run is aborted and the board opened again"));
  xrt.fall_back_to_cpu = section.Choice("fallback", "none", {"none", "cpu"},
                                        "cpu: the processor computes what the board fails to") == "cpu";
  return accelerator;
}

PanelConfig ReadPanel(const config::ConfigSection& section, estimate::SlotLength slot) {
  PanelConfig panel;
  panel.name = section.RequiredName("name", "a source of the site");
  panel.workload = section.Choice("workload", "positioning", {"positioning", "beacon"},
                                  "what the panel estimates") == "positioning"
                       ? WorkloadKind::kPositioning
                       : WorkloadKind::kBeacon;
  panel.model = section.File(section.RequiredText("model", "a file"));
  panel.accelerator = ReadAccelerator(section);
  panel.accelerator.format = ReadFormat(section, panel.workload);
  panel.orientation_deg = section.Real("orientation_deg", 0, {-360, 360},
                                       "of the panel's frame in the site's frame, counter-clockwise");
  panel.x_m =
      section.Real("x_m", 0, {-kMaxDistanceM, kMaxDistanceM}, "the panel's origin in the site's frame");
  panel.y_m =
      section.Real("y_m", 0, {-kMaxDistanceM, kMaxDistanceM}, "the panel's origin in the site's frame");
  panel.source = ReadSource(section, slot, panel);
  return panel;
}

}  // namespace tributary::panel
