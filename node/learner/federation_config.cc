#include "node/learner/federation_config.h"

#include <fmt/format.h>

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
  }
  return part;
}

}  // namespace

namespace {

// What tells which images to learn from: a program of the user's has its own.
constexpr const char* kKeysOfImages[] = {"images", "labels", "image_side",  "image_colour", "glyphs", "split",
                                         "alpha",  "shards", "shard_index", "seed",         "buffer"};

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

}  // namespace

FederationConfig ReadFederation(const config::ConfigSection& section, const std::string& default_aggregator) {
  FederationConfig config;
  config.trainer = ReadTrainer(section);
  const auto unless_trainer = [&config](config::Help help) {
    return config.trainer ? help : config::Required(help);
  };
  images::ImageSplitOptions& split = config.split;
  config.aggregator = default_aggregator;
  section.Read("aggregator", config.aggregator, "default: the uplink's");
  section.Read("run", config.run, "\"\": the run that is active, or the next to start");
  section.Read("images", config.images,
               unless_trainer("an idx file, a folder of PNG and JPEG files, or \"glyphs\" (built in)"));
  section.ReadFile("labels", config.labels,
                   "idx file; needed to split by label only. The classes of a folder are its folders");
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
  if (config.trainer) config.images.clear();
  const bool labelled =
      drawn || !config.labels.empty() || std::filesystem::is_directory(config.images, ignored);
  if (split.kind != images::ImageSplit::kIid && !labelled) {
    section.Fault("labels", "a shard or dirichlet split needs the labels of the images");
  }
  section.ReadFile("state", config.state,
                   "file that keeps error feedback and the buffer over a restart; \"\": none");
  section.Read("buffer", config.buffer, {0, kMaxBuffer},
               "learn from a stream and keep this many of the most novel images; 0: keep all");
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
  return Part(set, (*parts)[config.shard]);
}

}  // namespace tributary::learner
