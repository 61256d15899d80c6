// One [[panel]] of a node's configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/config/config.h"
#include "core/graph/graph_model.h"
#include "core/images/image_set.h"
#include "node/accelerator/create.h"
#include "node/panel/radio_source_config.h"
#include "node/retraining/retraining_config.h"
#include "node/source/emitter_source.h"
#include "node/source/ranges.h"
#include "node/source/replay.h"
#include "node/source/room_source.h"
#include "node/source/serial.h"
#include "node/source/udp.h"

namespace tributary::panel {

// A limit per panel and slot: the accelerators' buffers have this size.
inline constexpr std::int64_t kMaxSubjects = 256;

enum class WorkloadKind { kPositioning, kBeacon, kModulation, kNetwork };

struct ReplayConfig {
  std::string file;  // .npy
  source::ReplayOptions options;
};

struct RangesConfig {
  std::string file;            // CSV
  std::string survey;          // TOML; empty: that of the example recordings
  bool anchors_given = false;  // else the model's anchors and tag are used
  source::RangesSourceOptions options;
};

// One image a slot; with `replay.loop` by the slot's number, so that panels with as many images keep in step.
struct ImagesConfig {
  images::ImageFiles files;
  std::size_t glyphs = 1000;  // to draw, where the images are "glyphs"
  std::uint64_t seed = 1;     // of the glyphs
  source::ReplayOptions replay;
};

// The source of the samples; one alternative per `kind`.
using SourceConfig =
    std::variant<source::RoomSourceOptions, ReplayConfig, RangesConfig, source::UdpSourceOptions,
                 source::EmitterSourceOptions, SigmfConfig, source::SerialSourceOptions, ImagesConfig>;

// The keys about an accelerator that are common to [[panel]] and [fusion].
accelerator::AcceleratorConfig ReadAccelerator(const config::ConfigSection& section);

struct PanelConfig {
  std::string name;
  WorkloadKind workload = WorkloadKind::kPositioning;
  std::string model;             // a file
  graph::OutputMeaning outputs;  // of a network
  accelerator::AcceleratorConfig accelerator;
  double orientation_deg = 0;  // of the panel's frame in the site's, counter-clockwise
  double x_m = 0;              // of the panel's origin in the site's frame
  double y_m = 0;
  SourceConfig source;
  std::optional<retraining::RetrainingConfig> retraining;  // of a beacon network
};

// What the accelerator's weights of a beacon network are multiples of; 0: float.
double BeaconWeightStep(const PanelConfig& config);

// `slot`: the slot length of the node's site.
PanelConfig ReadPanel(const config::ConfigSection& section, estimate::SlotLength slot);

}  // namespace tributary::panel
