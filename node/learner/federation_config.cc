#include "node/learner/federation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/images/image_set.h"
#include "core/learning/fitted_images.h"
#include "core/runtime/address.h"
#include "core/status/context.h"
#include "core/status/macros.h"

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
constexpr const char* kKeysOfImages[] = {"images", "labels",   "image_side", "image_colour", "glyphs",
                                         "split",  "alpha",    "shards",     "shard_index",  "seed",
                                         "buffer", "workload", "held_out"};

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
  for (const char* key : kKeysOfImages) {
    if (federation.Has(key)) federation.Fault(key, "the program of [federation.trainer] has its own samples");
  }
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
  for (const char* key : kKeysOfImages) {
    if (federation.Has(key)) federation.Fault(key, "[federation.beacon] has its own samples");
  }
  return beacon;
}

}  // namespace

FederationConfig ReadFederation(const config::ConfigSection& section, const std::string& default_aggregator) {
  FederationConfig config;
  config.trainer = ReadTrainer(section);
  config.beacon = ReadBeacon(section);
  if (config.trainer && config.beacon) {
    section.Fault("beacon", "the program of [federation.trainer] has its own samples");
  }
  const bool without_images = config.trainer || config.beacon;
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
               "classifier: part of the images that it does not learn from, to tell the accuracy");
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
  section.ReadFile(
      "state", config.state,
      "file that keeps error feedback, the buffer and a personal head over a restart; \"\": none");
  section.Read("buffer", config.buffer, {0, kMaxBuffer},
               "learn from a stream and keep this many of the most novel images; 0: keep all");
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
