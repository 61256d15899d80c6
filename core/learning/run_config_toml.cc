// Reads a RunConfig from TOML; what the keys mean stands in run_config.h.
#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_split.h"
#include "core/config/config.h"
#include "core/learning/run_config.h"
#include "core/nn/encoder/training_limits.h"

namespace tributary::learning {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMaxDeadlineS = 7 * 86'400.0;
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
constexpr config::IntegerLimits kFromOne = {1, kMaxCount};
constexpr config::IntegerLimits kAny = {0, kMaxCount};
constexpr config::IntegerLimits kSeed = {0, std::numeric_limits<std::int64_t>::max()};
constexpr config::RealLimits kNotNegative = {0, std::numeric_limits<double>::max()};

std::uint32_t Count(const config::ConfigSection& section, std::string_view key, std::uint32_t fallback,
                    config::IntegerLimits limits, config::Help help) {
  return static_cast<std::uint32_t>(section.Integer(key, fallback, limits, help));
}

StrategyOptions ReadStrategy(const config::ConfigSection& section) {
  StrategyOptions strategy;
  const std::string kind = section.Choice("kind", "fedavg",
                                          {"fedavg", "fedprox", "fedema", "fedavgm", "fedadam", "fedyogi",
                                           "fedbuff", "median", "trimmed_mean", "multi_krum"},
                                          "how updates change the model");
  strategy.kind = ParseStrategy(kind).value_or(StrategyKind::kFedAvg);
  const bool adaptive = strategy.kind == StrategyKind::kFedAdam || strategy.kind == StrategyKind::kFedYogi;
  strategy.learning_rate = section.Real("learning_rate", adaptive ? 0.01 : 1.0, kNotNegative,
                                        "above 0; the server's; fedadam and fedyogi: default 0.01");
  strategy.momentum = section.Real("momentum", strategy.momentum, {0, 1}, "below 1; fedavgm");
  strategy.beta1 = section.Real("beta1", strategy.beta1, {0, 1}, "below 1; fedadam, fedyogi");
  strategy.beta2 = section.Real("beta2", strategy.beta2, {0, 1}, "below 1; fedadam, fedyogi");
  strategy.tau =
      section.Real("tau", strategy.tau, kNotNegative, "above 0; fedadam, fedyogi: degree of adaptivity");
  strategy.trim =
      section.Real("trim", strategy.trim, {0, 0.5},
                   "below 0.5; trimmed_mean: share left out at each end, rounded down to whole updates");
  strategy.byzantine = Count(section, "byzantine", 1, {0, 10'000},
                             "multi_krum: hostile updates to withstand; needs quorum >= 2 * byzantine + 3");
  strategy.selected =
      Count(section, "selected", 0, kAny, "multi_krum: updates to average; 0: all but the hostile ones");
  return strategy;
}

nn::EncoderOptions ReadEncoder(const config::ConfigSection& section, ClientLimits limits) {
  constexpr std::int64_t kMaxGrid = 28;
  nn::EncoderOptions encoder;
  if (const auto channels = section.Integers(
          "channels", std::vector<std::int64_t>(encoder.channels.begin(), encoder.channels.end()),
          IntegersWithin(nn::kChannelsLimit, limits),
          "of each stage; used, as all of this section, if model is empty");
      !channels.empty()) {
    encoder.channels.assign(channels.begin(), channels.end());
  }
  encoder.grid = Count(section, "grid", static_cast<std::uint32_t>(encoder.grid), {1, kMaxGrid},
                       "features: channels × grid × grid");
  encoder.quantised =
      section.Boolean("quantised", encoder.quantised,
                      "12-bit weights and 8-bit activations, as the convolution block; norm = \"none\"");
  if (encoder.quantised) encoder.activation = nn::EncoderActivation::kHardClip;
  const std::string norm =
      section.Choice("norm", encoder.quantised ? "none" : "batch", {"batch", "filter_response", "none"},
                     "filter_response needs no running statistics");
  if (norm == "filter_response") encoder.norm = nn::EncoderNorm::kFilterResponse;
  if (norm == "none") encoder.norm = nn::EncoderNorm::kNone;
  return encoder;
}

PrivacySettings ReadPrivacy(const config::ConfigSection& section) {
  PrivacySettings privacy;
  privacy.secure_aggregation =
      section.Boolean("secure_aggregation", false, "the aggregator learns only the sum");
  privacy.noise_multiplier =
      section.Real("noise_multiplier", 0, kNotNegative,
                   "differential privacy; needs clip_norm and weighting = \"uniform\"");
  privacy.delta = section.Real("delta", privacy.delta, {0, 1}, "between 0 and 1; epsilon is stated for it");
  privacy.noise_seed = static_cast<std::uint64_t>(
      section.Integer("noise_seed", 0, kSeed,
                      "for the noise and the draw of nodes; 0: from the system's entropy, known to nobody"));
  return privacy;
}

BufferSettings ReadBuffer(const config::ConfigSection& section, std::uint32_t min_nodes) {
  BufferSettings buffer;
  buffer.size = min_nodes;
  buffer.size = Count(section, "size", buffer.size, {1, 65'536},
                      "fedbuff: updates per version of the model; default: min_nodes");
  buffer.max_staleness = Count(section, "max_staleness", buffer.max_staleness, {0, 1'000},
                               "fedbuff: versions that an update may be behind");
  buffer.staleness_exponent = section.Real("staleness_exponent", buffer.staleness_exponent, kNotNegative,
                                           "fedbuff: weight × (1 + staleness)^−exponent");
  return buffer;
}

RunConfig ReadRun(const config::ConfigSection& root, ClientLimits limits) {
  RunConfig config;
  config.name = root.RequiredText("name", "1 to 64 letters, digits, '-', '_', '.'; not starting with '.'");
  config.model_file = root.Text("model", "", "safetensors to start from; empty: a fresh encoder");
  config.rounds = Count(root, "rounds", config.rounds, kFromOne, "to commit");
  config.min_nodes =
      Count(root, "min_nodes", config.min_nodes, kFromOne,
            "connected nodes that a round needs to start; with fewer the run waits; at most max_nodes");
  config.max_nodes =
      Count(root, "max_nodes", config.max_nodes, kFromOne, "nodes that may join, at most 10000");
  config.quorum = Count(root, "quorum", config.min_nodes, kFromOne,
                        "updates that a round needs; with fewer it changes nothing; default: min_nodes");
  config.sample_fraction = root.Real(
      "sample_fraction", 1, {0, 1},
      "above 0; probability that a connected node is asked; drawn again if fewer than the quorum are");
  config.deadline_ns = static_cast<std::int64_t>(
      root.Real("deadline_s", 60, {0.001, kMaxDeadlineS}, "for the training, from the start of the round") *
      kNsPerS);
  config.weighting = root.Choice("weighting", "samples", {"samples", "uniform"},
                                 "of updates: by the samples of a node, or each node the same") == "samples"
                         ? UpdateWeighting::kSamples
                         : UpdateWeighting::kUniform;
  config.max_samples = static_cast<std::uint64_t>(root.Integer(
      "max_samples", 1'000'000'000, {1, kSeed.max}, "largest number of samples that a node may claim"));
  config.max_element = root.Real("max_element", config.max_element, RealsWithin(nn::kMaxElementLimit, limits),
                                 "an update with a larger element, of either sign, is refused; the sum's "
                                 "resolution is proportional to it");
  config.strategy = ReadStrategy(root.Section("strategy"));
  config.encoder = ReadEncoder(root.Section("encoder"), limits);
  config.client = ReadClientSettings(root, config.rounds, limits);
  config.privacy = ReadPrivacy(root.Section("privacy"));
  config.buffer = ReadBuffer(root.Section("buffer"), config.min_nodes);
  config.evaluation.every_rounds = Count(root.Section("evaluation"), "every_rounds", 1, kAny,
                                         "the aggregator judges the model after so many rounds; 0: never");
  // What single limits cannot say.
  const absl::Status status = Validate(config);
  for (const absl::string_view fault : absl::StrSplit(status.message(), "; ", absl::SkipEmpty())) {
    root.Fault("", std::string(fault));
  }
  const absl::Status encoder =
      limits == ClientLimits::kStored ? absl::OkStatus() : nn::Validate(config.encoder);
  if (!encoder.ok()) root.Fault("", std::string(encoder.message()));
  return config;
}

absl::StatusOr<RunConfig> Parse(std::string_view text, std::string_view path, ClientLimits limits) {
  absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Parse(text, path);
  if (!file.ok()) return file.status();
  RunConfig config = ReadRun(file->Root(), limits);
  if (absl::Status status = file->Finish(); !status.ok()) return status;
  return config;
}

}  // namespace

RunConfig ReadRunConfig(const config::ConfigFile& file) {
  return ReadRun(file.Root(), ClientLimits::kTraining);
}

absl::StatusOr<RunConfig> ParseRunConfig(std::string_view text, std::string_view path) {
  return Parse(text, path, ClientLimits::kTraining);
}

absl::StatusOr<RunConfig> ParseStoredRunConfig(std::string_view text, std::string_view path) {
  return Parse(text, path, ClientLimits::kStored);
}

}  // namespace tributary::learning
