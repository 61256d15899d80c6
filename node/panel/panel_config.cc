#include "node/panel/panel_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "core/estimate/slot_stride.h"
#include "core/learning/fitted_images.h"
#include "core/runtime/address.h"
#include "node/accelerator/board_config.h"

namespace tributary::panel {
namespace {

constexpr double kMaxDistanceM = 1e6;  // a site is a room or an area
// The rate of the shortest slot, and less than once in a season; SlotStride checks the rest.
constexpr double kMostRateHz = 1e9 / estimate::SlotLength::kShortestNs;
constexpr double kLeastRateHz = 1e-7;

// The default is what the programmable logic computes.
fpga::NumberFormat ReadFormat(const config::ConfigSection& section, WorkloadKind workload) {
  using Names = config::ConfigSection::Names;
  std::string name = "int8_16";
  Names names = {"float", "int32", "int16", "int8", "int8_16"};
  if (workload == WorkloadKind::kBeacon) {
    name = "int16";
    names = {"float", "int16"};
  } else if (workload == WorkloadKind::kModulation) {
    name = "int8";
    names = {"float", "int8"};
  }
  if (workload == WorkloadKind::kNetwork) {
    if (section.Has("format")) section.Fault("format", "the workload network computes as its graph says");
    return fpga::NumberFormat::kFloat;
  }
  section.Choose("format", name, names,
                 "of the arithmetic; for a beacon: float, int16, by default int16; for modulation: float, "
                 "int8, by default int8");
  return fpga::ParseNumberFormat(name).value_or(fpga::NumberFormat::kInt8Int16);
}

// The configuration names the wall, or it follows from the panel's orientation.
scene::Wall ReadWall(const config::ConfigSection& source, const config::ConfigSection& panel,
                     double orientation_deg) {
  constexpr scene::Wall kWalls[] = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth,
                                    scene::Wall::kWest};
  const bool named = source.Has("wall");
  scene::Wall wall_named = scene::Wall::kSouth;
  source.Choose("wall", wall_named, {"south", "east", "north", "west"},
                "default: follows from orientation_deg");
  for (const scene::Wall wall : kWalls) {
    const bool fits = std::abs(std::remainder(orientation_deg - scene::WallAngleDeg(wall), 360.0)) < 1e-6;
    if (named ? wall == wall_named && (fits || !panel.Has("orientation_deg")) : fits) return wall;
  }
  panel.Fault(
      "orientation_deg",
      named ? fmt::format("{} does not fit the {} wall of the simulated room", orientation_deg,
                          scene::WallName(wall_named))
            : fmt::format("expected 0, 90, 180 or 270 for a simulated room, found {}", orientation_deg));
  return scene::Wall::kSouth;
}

// The rate of a source that is paced by the slots.
double ReadRate(const config::ConfigSection& source, estimate::SlotLength slot) {
  double rate_hz = estimate::DefaultRateHz(slot);
  source.Read("rate_hz", rate_hz, {kLeastRateHz, kMostRateHz},
              "1000 / slot_ms divided by a whole number; default: one frame per slot, at most 2000 a second");
  if (const auto stride = estimate::SlotStride(rate_hz, slot); !stride.ok()) {
    // Fault adds the key.
    source.Fault("rate_hz", std::string(absl::StripPrefix(stride.status().message(), "rate_hz: ")));
  }
  return rate_hz;
}

source::RoomSourceOptions ReadRoom(const config::ConfigSection& source, const config::ConfigSection& panel,
                                   estimate::SlotLength slot, PanelConfig& config) {
  source::RoomSourceOptions room;
  room.slot = slot;
  room.wall = ReadWall(source, panel, config.orientation_deg);
  config.orientation_deg = scene::WallAngleDeg(room.wall);
  source.Read("subjects", room.subjects, {1, kMaxSubjects}, "users in the room");
  room.rate_hz = ReadRate(source, slot);
  source.Read("seed", room.motion.seed, {0}, "of users and noise");
  source.Read("snapshots", room.motion.snapshots, {1, 1 << 20},
              "positions of each user; 2 KiB of memory for each user and snapshot");
  return room;
}

ReplayConfig ReadReplay(const config::ConfigSection& source, estimate::SlotLength slot) {
  ReplayConfig replay;
  replay.options.slot = slot;
  source.ReadFile(
      "file", replay.file,
      config::Required("one array [slots, features] or [slots, subjects, features]; bursts: [n, 2, 128]"));
  replay.options.rate_hz = ReadRate(source, slot);
  source.Read("loop", replay.options.loop, "true: begin again at the end");
  source.Read("first_subject", replay.options.first_subject, {0, 1 << 30}, "subjects are numbered from here");
  return replay;
}

ImagesConfig ReadImageSource(const config::ConfigSection& source, estimate::SlotLength slot) {
  ImagesConfig images;
  images.replay.slot = slot;
  images.replay.loop = true;
  source.Read("images", images.files.images,
              config::Required("an idx file, a folder of PNG and JPEG files, or \"glyphs\" (drawn ones)"));
  if (images.files.images != "glyphs") images.files.images = source.File(images.files.images);
  images.files.fitted = learning::ReadFittedImages(source);
  source.Read("glyphs", images.glyphs, {10, 100'000}, "how many to draw, with images = \"glyphs\"");
  source.Read("seed", images.seed, {0},
              "of the glyphs; image i shows glyph i % 10, in another hand for each seed");
  images.replay.rate_hz = ReadRate(source, slot);
  source.Read("loop", images.replay.loop, "true: begin again at the end");
  source.Read("first_subject", images.replay.first_subject, {0, 1 << 30}, "the number of its subject");
  return images;
}

RangesConfig ReadRanges(const config::ConfigSection& source, estimate::SlotLength slot) {
  RangesConfig ranges;
  source::RangesSourceOptions& options = ranges.options;
  options.slot = slot;
  source.ReadFile("file", ranges.file, config::Required("CSV recording"));
  source.ReadFile("survey", ranges.survey,
                  "anchors and tags of the hall; default: that of the example recordings");
  ranges.anchors_given = source.Has("anchors") || source.Has("tag");
  if (ranges.anchors_given) {
    std::vector<std::int64_t> anchors;
    source.Read("anchors", anchors, {0, scene::Survey::kMaxAnchors - 1},
                "default: the model's. If anchors and tag are given, they must be the model's");
    options.anchors.assign(anchors.begin(), anchors.end());
    source.Read("tag", options.tag, {0, scene::Survey::kMaxTags - 1}, "default: the model's");
  }
  source.Read("start_fraction", options.start_fraction, {0, 1},
              "the part of the recording that is played, by time");
  source.Read("end_fraction", options.end_fraction, {0, 1},
              "the part of the recording that is played, by time");
  source.Read("speed", options.speed, {0, 1e6}, "times real time; 0: as fast as the node reads");
  source.Read("start_unix_ns", options.start_unix_ns, {0}, "when the first row is due; 0: at once");
  return ranges;
}

// Numeric only: a name could mean another machine tomorrow. In one form, since addresses are compared as
// text.
void ReadIpAddress(const config::ConfigSection& source, std::string_view key, std::string& address,
                   config::Help help) {
  const std::string otherwise = address;
  source.Read(key, address, help);
  if (address.empty() && otherwise.empty()) return;
  const absl::StatusOr<std::string> normal = runtime::NormalIpAddress(address);
  if (!normal.ok()) source.Fault(key, std::string(normal.status().message()));
  address = normal.value_or(otherwise);
}

bool IsIpv6(const std::string& address) { return address.find(':') != std::string::npos; }

source::UdpSourceOptions ReadUdp(const config::ConfigSection& source, estimate::SlotLength slot,
                                 const std::string& panel) {
  source::UdpSourceOptions udp;
  udp.assembler.slot = slot;
  udp.panel = panel;
  ReadIpAddress(source, "address", udp.address, "numeric address to listen on");
  source.Read("port", udp.port, {0, 65'535}, config::Required("0: any free port, which the log names"));
  ReadIpAddress(source, "front_end", udp.front_end,
                "numeric address of the only sender that is heard; \"\": any");
  if (!udp.front_end.empty() && IsIpv6(udp.front_end) != IsIpv6(udp.address)) {
    source.Fault("front_end", fmt::format("{} cannot send to address = \"{}\": one is IPv6, the other IPv4",
                                          udp.front_end, udp.address));
  }
  source.Read("panel", udp.assembler.panel, {0, 65'535}, "number of this panel in the datagrams");
  source.Read("max_subjects", udp.assembler.max_subjects, {1, kMaxSubjects}, "per slot");
  return udp;
}

source::SerialSourceOptions ReadSerial(const config::ConfigSection& source, estimate::SlotLength slot,
                                       const std::string& panel) {
  source::SerialSourceOptions serial;
  serial.slot = slot;
  serial.panel = panel;
  source.Read("device", serial.port,
              config::Required("serial line, as \"/dev/ttyUSB0\"; the node is its beacon board"));
  source.Read("baud", serial.baud, {50, 4'000'000}, "baud rate; 8 data bits, no parity, one stop bit");
  if (const absl::Status rate = runtime::CheckBaudRate(serial.baud); !rate.ok()) {
    source.Fault("baud", std::string(rate.message()));
  }
  return serial;
}

SourceConfig ReadSource(const config::ConfigSection& panel, estimate::SlotLength slot, PanelConfig& config) {
  const config::ConfigSection source = panel.Section("source");
  if (!panel.Has("source")) panel.Fault("source", "a table [panel.source] with its kind is required");
  std::string kind = "room";
  source.Choose("kind", kind, {"room", "replay", "ranges", "udp", "generator", "sigmf", "serial", "images"},
                "where its samples come from; generator and sigmf give bursts of I/Q");
  if (kind == "replay") return ReadReplay(source, slot);
  if (kind == "ranges") return ReadRanges(source, slot);
  if (kind == "udp") return ReadUdp(source, slot, config.name);
  if (kind == "generator") return ReadEmitters(source, slot, ReadRate(source, slot), kMaxSubjects);
  if (kind == "sigmf") return ReadSigmf(source, slot, ReadRate(source, slot));
  if (kind == "serial") return ReadSerial(source, slot, config.name);
  if (kind == "images") return ReadImageSource(source, slot);
  return ReadRoom(source, panel, slot, config);
}

void ReadFloatLayers(const config::ConfigSection& section, WorkloadKind workload,
                     accelerator::AcceleratorConfig& accelerator) {
  constexpr const char* kKey = "float_layers";
  if (workload != WorkloadKind::kNetwork) {
    if (section.Has(kKey)) section.Fault(kKey, "is for the workload network");
    return;
  }
  accelerator::FloatLayers layers = accelerator::FloatLayers::kProcessor;
  section.Choose(
      kKey, layers, {accelerator::kFloatLayerNames.begin(), accelerator::kFloatLayerNames.end()},
      "with xrt: what computes convolutions and products that are not quantised; bfloat16, float32: the "
      "board, which then needs the kernel tensor_kernel_bfloat or tensor_kernel_float32");
  if (accelerator.xrt.has_value()) {
    accelerator.xrt->float_layers = layers;
  } else if (layers != accelerator::FloatLayers::kProcessor) {
    section.Fault(kKey, "is for accelerator = \"xrt\", which is not given");
  }
}

graph::OutputMeaning ReadOutputs(const config::ConfigSection& panel, WorkloadKind workload) {
  graph::OutputMeaning meaning;
  if (workload != WorkloadKind::kNetwork) {
    if (panel.Has("outputs")) panel.Fault("outputs", "is for the workload network");
    return meaning;
  }
  const config::ConfigSection section = panel.Section("outputs");
  std::string kind;
  config::ConfigSection::Names names = {""};
  names.insert(names.end(), std::begin(graph::kOutputKindNames), std::end(graph::kOutputKindNames));
  section.Choose("kind", kind, names,
                 "what the network gives: logits or probabilities of classes; x, y with l11, l21, l22 of the "
                 "covariance's factor (cholesky), or with ln of both deviations; \"\": the file says it");
  meaning.kind = static_cast<graph::OutputKind>(std::ranges::find(names, kind) - names.begin());
  section.Read("output", meaning.output, "which output of the graph; \"\": the only one");
  section.Read("classes", meaning.classes, "names of the classes, in the network's order; []: the file's");
  section.Read("temperature", meaning.temperature, {0, 1000},
               "logits are divided by it, as fitted on held-out samples; 0: the file's, or 1");
  section.Read("covariance_scale", meaning.covariance_scale, {0, 1000},
               "positions: the covariance's factor is multiplied by it; 0: the file's, or 1");
  return meaning;
}

std::optional<retraining::RetrainingConfig> ReadPanelRetraining(const config::ConfigSection& panel,
                                                                const PanelConfig& config) {
  if (!panel.Has("retraining")) return std::nullopt;
  if (config.workload != WorkloadKind::kBeacon) panel.Fault("retraining", "is for the workload beacon");
  if (std::holds_alternative<source::SerialSourceOptions>(config.source)) {
    panel.Fault("retraining", "the master of a serial line trains its board; take another source");
  }
  return retraining::ReadRetraining(panel.Section("retraining"));
}

}  // namespace

double BeaconWeightStep(const PanelConfig& config) {
  return config.accelerator.format == fpga::NumberFormat::kInt16 ? 1 / serial::kWeightScale : 0;
}

accelerator::AcceleratorConfig ReadAccelerator(const config::ConfigSection& section) {
  accelerator::AcceleratorConfig accelerator{.max_batch = kMaxSubjects};
  accelerator.xrt = accelerator::ReadBoard(
      section, {.accelerator = "xrt: a board, with the keys from xclbin on; [fusion] needs the kernel "
                               "fusion_kernel in the xclbin",
                .compute_units = "of the kernel, for this panel alone",
                .frames_per_run = "subjects per start of a kernel"});
  return accelerator;
}

PanelConfig ReadPanel(const config::ConfigSection& section, estimate::SlotLength slot) {
  PanelConfig panel;
  section.ReadName("name", panel.name, "a source of the site");
  section.Choose(
      "workload", panel.workload, {"positioning", "beacon", "modulation", "network"},
      "what the panel estimates; modulation: for a site with the model's classes; network: an ONNX "
      "graph of yours");
  section.ReadFile("model", panel.model, config::Required("a file"));
  panel.accelerator = ReadAccelerator(section);
  panel.accelerator.format = ReadFormat(section, panel.workload);
  ReadFloatLayers(section, panel.workload, panel.accelerator);
  panel.outputs = ReadOutputs(section, panel.workload);
  if (panel.workload == WorkloadKind::kModulation) {
    for (const char* key : {"orientation_deg", "x_m", "y_m"}) {
      if (section.Has(key)) section.Fault(key, "is for positions; a modulation has none");
    }
  }
  section.Read("orientation_deg", panel.orientation_deg, {-360, 360},
               "of the panel's frame in the site's frame, counter-clockwise");
  for (const auto& [key, origin_m] : {std::pair("x_m", &panel.x_m), std::pair("y_m", &panel.y_m)}) {
    section.Read(key, *origin_m, {-kMaxDistanceM, kMaxDistanceM}, "the panel's origin in the site's frame");
  }
  panel.source = ReadSource(section, slot, panel);
  panel.retraining = ReadPanelRetraining(section, panel);
  return panel;
}

}  // namespace tributary::panel
