#include "node/learner/federation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/images/image_set.h"
#include "core/learning/fitted_images.h"
#include "core/parameters/npy.h"
#include "core/recordings/labelled_positions.h"
#include "core/recordings/labelled_recording.h"
#include "core/runtime/address.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/accelerator/board_config.h"

namespace tributary::learner {
namespace {

constexpr std::int64_t kMaxNodes = 100'000;
constexpr std::int64_t kMaxBuffer = 10'000'000;

images::ImageSet Part(const images::ImageSet& set, const std::vector<std::uint32_t>& indices) {
  images::ImageSet part;
  part.side = set.side;
  part.channels = set.channels;
  part.pixels.reserve(indices.size() * set.image_size());
  for (const std::uint32_t index : indices) {
    const auto image = set.image(index);
    part.pixels.insert(part.pixels.end(), image.begin(), image.end());
    if (!set.labels.empty()) part.labels.push_back(set.labels[index]);
  }
  return part;
}

}  // namespace

namespace {

// What tells which images to learn from: a program of the user's has its own.
constexpr std::size_t kMostPositionBytes = std::size_t{64} << 20;
constexpr std::size_t kMostFeatureBytes = std::size_t{4} << 30;
constexpr double kMostCoordinateM = 1e6;

constexpr const char* kKeysOfImages[] = {"images", "labels",   "image_side", "image_colour", "glyphs",
                                         "split",  "alpha",    "shards",     "shard_index",  "seed",
                                         "buffer", "workload", "accelerator"};

// Keys of images beside another kind of samples; `section`: who has those.
void RefuseImages(const config::ConfigSection& federation, std::string_view section) {
  for (const char* key : kKeysOfImages) {
    if (federation.Has(key)) federation.Fault(key, fmt::format("{} has its own samples", section));
  }
}

std::optional<ExternalTrainerOptions> ReadTrainer(const config::ConfigSection& federation) {
  const config::ConfigSection section = federation.Section("trainer");
  ExternalTrainerOptions trainer;
  section.ReadFile(
      "socket", trainer.socket,
      "Unix socket of a program that trains in runs of the workload external, instead of images");
  double silence_s = static_cast<double>(trainer.silence_ns) / 1e9;
  section.Read("silence_s", silence_s, {0.1, 86'400},
               "decline the round if the program says nothing for so long");
  trainer.silence_ns = static_cast<std::int64_t>(1e9 * silence_s);
  if (trainer.socket.empty()) return std::nullopt;
  if (const absl::Status address =
          runtime::CheckAddress("unix:" + trainer.socket, runtime::AddressUse::kDial);
      !address.ok()) {
    section.Fault("socket", std::string(address.message()));
  }
  RefuseImages(federation, "the program of [federation.trainer]");
  return trainer;
}

std::optional<BeaconSamplesConfig> ReadBeacon(const config::ConfigSection& federation) {
  const config::ConfigSection section = federation.Section("beacon");
  BeaconSamplesConfig beacon;
  section.ReadFile("ranges", beacon.files.ranges,
                   "CSV of recorded ranges to train on in runs of the workload beacon, instead of images");
  section.ReadFile("truth", beacon.files.truth, "CSV of motion capture; required with ranges");
  section.ReadFile("survey", beacon.files.survey,
                   "TOML with the hall's anchors and tags; \"\": the example recordings' hall");
  std::vector<std::int64_t> anchors(beacon.anchors.begin(), beacon.anchors.end());
  section.Read("anchors", anchors, {0, scene::Survey::kMaxAnchors - 1}, "three, of the run's model");
  section.Read("tag", beacon.tag, {0, scene::Survey::kMaxTags - 1}, "that is located");
  section.Read("from", beacon.part.start, {0, 1}, "start of the part to train on, as a fraction of time");
  section.Read("to", beacon.part.end, {0, 1}, "end of that part");
  if (beacon.files.ranges.empty()) return std::nullopt;
  if (beacon.files.truth.empty()) section.Fault("truth", "needed to train on ranges");
  if (anchors.size() == beacon.anchors.size()) {
    std::ranges::transform(anchors, beacon.anchors.begin(),
                           [](std::int64_t anchor) { return static_cast<int>(anchor); });
  }
  std::ranges::sort(anchors);
  if (anchors.size() != beacon.anchors.size() || std::ranges::adjacent_find(anchors) != anchors.end()) {
    section.Fault("anchors", "expected three different ones");
  }
  if (!(beacon.part.start < beacon.part.end)) section.Fault("from", "must be below to");
  RefuseImages(federation, "[federation.beacon]");
  return beacon;
}

std::optional<BurstSamplesConfig> ReadModulation(const config::ConfigSection& federation) {
  const config::ConfigSection section = federation.Section("modulation");
  BurstSamplesConfig bursts;
  section.ReadFile("iq", bursts.iq,
                   "bursts to train on in runs of the workload modulation, instead of images: float32 [n, 2, "
                   "128] in NumPy's format, or a SigMF recording (.sigmf-meta)");
  section.ReadFile("labels", bursts.labels,
                   "text: the modulation of each burst, a line each; needed with iq");
  if (bursts.iq.empty()) return std::nullopt;
  if (bursts.labels.empty()) section.Fault("labels", "needed to train on bursts");
  RefuseImages(federation, "[federation.modulation]");
  return bursts;
}

std::optional<PointSamplesConfig> ReadPositioning(const config::ConfigSection& federation) {
  const config::ConfigSection section = federation.Section("positioning");
  PointSamplesConfig points;
  section.ReadFile("features", points.features,
                   "snapshots of a panel to train on in runs of the workload positioning, instead of images: "
                   "float32 [n, 1024] in NumPy's format");
  section.ReadFile("positions", points.positions,
                   "CSV: x,y of each snapshot in the site's frame, m; needed with features");
  section.Read("orientation_deg", points.pose.angle_deg, {-360, 360},
               "of the panel's frame, counter-clockwise");
  section.Read("x_m", points.pose.x_m, {-kMostCoordinateM, kMostCoordinateM}, "of the panel's frame");
  section.Read("y_m", points.pose.y_m, {-kMostCoordinateM, kMostCoordinateM}, "of the panel's frame");
  if (points.features.empty()) return std::nullopt;
  if (points.positions.empty()) section.Fault("positions", "needed to train on snapshots");
  RefuseImages(federation, "[federation.positioning]");
  return points;
}

}  // namespace

FederationConfig ReadFederation(const config::ConfigSection& section, const std::string& default_aggregator) {
  FederationConfig config;
  config.trainer = ReadTrainer(section);
  config.beacon = ReadBeacon(section);
  config.modulation = ReadModulation(section);
  config.positioning = ReadPositioning(section);
  if (config.trainer && config.beacon) {
    section.Fault("beacon", "the program of [federation.trainer] has its own samples");
  }
  if (config.modulation && (config.trainer || config.beacon)) {
    section.Fault("modulation", "a node learns from one kind of samples, and another section names some");
  }
  if (config.positioning && (config.trainer || config.beacon || config.modulation)) {
    section.Fault("positioning", "a node learns from one kind of samples, and another section names some");
  }
  const bool without_images = config.trainer || config.beacon || config.modulation || config.positioning;
  if ((config.trainer || config.beacon) && section.Has("held_out")) {
    section.Fault("held_out", "the model of this node's runs is not judged by accuracy");
  }
  const auto unless_trainer = [without_images](config::Help help) {
    return without_images ? help : config::Required(help);
  };
  images::ImageSplitOptions& split = config.split;
  config.aggregator = default_aggregator;
  section.Read("aggregator", config.aggregator, "default: the uplink's");
  section.Read("run", config.run, "\"\": the run that is active, or the next to start");
  section.Read("images", config.images,
               unless_trainer("an idx file, a folder of PNG and JPEG files, or \"glyphs\" (built in)"));
  section.ReadFile("labels", config.labels,
                   "idx file; needed to split by label and for a classifier. The classes of a folder are its "
                   "folders");
  section.Choose("workload", config.classifier, {"self_supervised", "classifier"},
                 "of the runs that this node takes part in; a classifier learns from labels");
  section.Read("held_out", config.held_out, {0, 0.9},
               "classifier, modulation, positioning: part of the samples that it does not learn from, to "
               "judge by");
  const bool drawn = config.images == "glyphs";
  if (drawn) {
    section.Read("glyphs", config.glyphs, {10, 1'000'000}, "how many to draw, with images = \"glyphs\"");
    if (!config.labels.empty()) section.Fault("labels", "the built-in glyphs have their own");
  } else {
    config.images = section.File(config.images);
  }
  config.fitted = learning::ReadFittedImages(section);
  section.Choose("split", split.kind, {"iid", "shard", "dirichlet"}, "how nodes share one file");
  section.Read("alpha", split.concentration, {1e-3, 1e6}, "concentration of the Dirichlet split");
  section.Read("shards", split.nodes, {1, kMaxNodes}, "how many nodes share the file");
  section.Read("seed", split.seed, {0}, "of the split and of the glyphs");
  section.Read("shard_index", config.shard, {0, kMaxNodes - 1}, "which part is this node's");
  if (config.shard >= split.nodes) {
    section.Fault("shard_index",
                  fmt::format("expected less than shards = {}, found {}", split.nodes, config.shard));
  }
  std::error_code ignored;
  if (without_images) config.images.clear();
  const bool labelled =
      drawn || !config.labels.empty() || std::filesystem::is_directory(config.images, ignored);
  if (split.kind != images::ImageSplit::kIid && !labelled) {
    section.Fault("labels", "a shard or dirichlet split needs the labels of the images");
  }
  if (config.classifier && !without_images && !labelled) {
    section.Fault("labels", "the workload classifier needs the labels of the images");
  }
  section.ReadFile("state", config.state,
                   "file that keeps error feedback and the buffer over a restart; \"\": none");
  section.Read("buffer", config.buffer, {0, kMaxBuffer},
               "learn from a stream and keep this many of the most novel images; 0: keep all");
  config.board = accelerator::ReadBoard(
      section, {.accelerator = "xrt: a board trains encoders along, with the keys of a panel's board and the "
                               "kernels augment_convolve_kernel and tensor_kernel or tensor_kernel_bfloat",
                .compute_units = "of each kernel, for training alone",
                .frames_per_run = "images per start of a kernel"});
  if (config.classifier && config.buffer > 0) section.Fault("buffer", "the workload classifier keeps all");
  section.Read("memory_bytes", config.memory_bytes, {0, 1LL << 40},
               "decline a run that needs more to train; 0: what the unit's MemoryMax leaves");
  return config;
}

absl::StatusOr<images::ImageSet> LoadPart(const FederationConfig& config) {
  ASSIGN_OR_RETURN(const images::ImageSet set,
                   config.images == "glyphs"
                       ? images::DrawGlyphs(config.glyphs, config.split.seed)
                       : images::ReadImageFiles({config.images, config.labels, config.fitted}));
  const auto parts = images::SplitImages(set.count(), set.labels, config.split);
  if (!parts.ok()) return WithContext(config.images, parts.status());
  images::ImageSet part = Part(set, (*parts)[config.shard]);
  if (!config.classifier) part.labels.clear();
  return part;
}

absl::StatusOr<recordings::LabelledBursts> LoadBursts(const BurstSamplesConfig& config) {
  ASSIGN_OR_RETURN(recordings::LabelledBursts bursts,
                   recordings::ReadLabelledRecording(config.iq, config.labels));
  if (bursts.count() == 0) return absl::InvalidArgumentError(config.iq + ": has no burst");
  return bursts;
}

absl::StatusOr<PanelPoints> LoadPoints(const PointSamplesConfig& config) {
  constexpr std::uint64_t kInputs = nn::PositioningNetwork::kInputs;
  ASSIGN_OR_RETURN(const std::string text, runtime::ReadFile(config.positions, kMostPositionBytes));
  ASSIGN_OR_RETURN(const auto positions, WithContext(config.positions, recordings::ParsePositions(text)));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(config.features, kMostFeatureBytes));
  ASSIGN_OR_RETURN(parameters::NpyArray array, WithContext(config.features, parameters::DecodeNpy(file)));
  if (array.shape.size() != 2 || array.shape[1] != kInputs) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the array is [{}], not [n, {}]: a snapshot of the panel for "
                    "each position",
                    config.features, fmt::join(array.shape, ", "), kInputs));
  }
  if (array.shape[0] != positions.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} positions for {} snapshots: each snapshot needs one position", config.positions,
                    positions.size(), array.shape[0]));
  }
  if (positions.empty()) return absl::InvalidArgumentError(config.features + ": has no snapshot");
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    if (std::isfinite(array.values[i])) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: snapshot {}, feature {} is not finite", config.features, i / kInputs, i % kInputs));
  }
  PanelPoints points{.features = std::move(array.values), .positions = {}};
  const double angle = config.pose.angle_deg * std::numbers::pi / 180;
  for (const scene::RoomPosition& each : positions) {
    const double x = each.x - config.pose.x_m, y = each.y - config.pose.y_m;
    points.positions.push_back(static_cast<float>(std::cos(angle) * x + std::sin(angle) * y));
    points.positions.push_back(static_cast<float>(std::cos(angle) * y - std::sin(angle) * x));
  }
  return points;
}

absl::StatusOr<BeaconExamples> LoadExamples(const BeaconSamplesConfig& config) {
  ASSIGN_OR_RETURN(const auto recording, recordings::BeaconRecording::Load(config.files));
  for (const int anchor : config.anchors) {
    if (anchor >= recording.anchors()) {
      return absl::InvalidArgumentError(
          fmt::format("anchor {}: the survey has {}", anchor, recording.anchors()));
    }
  }
  if (config.tag >= recording.tags()) {
    return absl::InvalidArgumentError(fmt::format("tag {}: the survey has {}", config.tag, recording.tags()));
  }
  BeaconExamples examples{.anchors = config.anchors, .tag = config.tag, .examples = {}};
  examples.examples = recording.Examples(config.anchors, config.tag, config.part);
  if (!examples.examples.empty()) return examples;
  return absl::InvalidArgumentError(
      fmt::format("{}: no row of the part has all ranges and a true position", config.files.ranges));
}

}  // namespace tributary::learner
