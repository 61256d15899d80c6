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
                    config::IntegerLimits limits) {
  return static_cast<std::uint32_t>(section.Integer(key, fallback, limits));
}

StrategyOptions ReadStrategy(const config::ConfigSection& section) {
  StrategyOptions strategy;
  const std::string kind = section.Choice("kind", "fedavg",
                                          {"fedavg", "fedprox", "fedema", "fedavgm", "fedadam", "fedyogi",
                                           "fedbuff", "median", "trimmed_mean", "multi_krum"});
  strategy.kind = ParseStrategy(kind).value_or(StrategyKind::kFedAvg);
  const bool adaptive = strategy.kind == StrategyKind::kFedAdam || strategy.kind == StrategyKind::kFedYogi;
  strategy.learning_rate = section.Real("learning_rate", adaptive ? 0.01 : 1.0, kNotNegative);
  strategy.momentum = section.Real("momentum", strategy.momentum, {0, 1});
  strategy.beta1 = section.Real("beta1", strategy.beta1, {0, 1});
  strategy.beta2 = section.Real("beta2", strategy.beta2, {0, 1});
  strategy.tau = section.Real("tau", strategy.tau, kNotNegative);
  strategy.trim = section.Real("trim", strategy.trim, {0, 0.5});
  strategy.byzantine = Count(section, "byzantine", 1, {0, 10'000});
  strategy.selected = Count(section, "selected", 0, kAny);
  return strategy;
}

std::string ReadAugmentation(const config::ConfigSection& section, std::string_view otherwise) {
  constexpr std::string_view kKey = "augmentation";
  if (section.Text(kKey, otherwise) == "hardware") {
    section.Fault(kKey, "\"hardware\" is now called \"table\"; the processor computes these views");
    return std::string(otherwise);
  }
  return section.Choice(kKey, otherwise, {"continuous", "table"});
}

// Those of training, unless the run is stored already.
class Limits {
 public:
  explicit Limits(bool stored) : stored_(stored) {}

  config::IntegerLimits Counts(const nn::TrainingLimit& limit) const {
    const auto least = static_cast<std::int64_t>(limit.least);
    return {least, stored_ ? kMaxCount : static_cast<std::int64_t>(limit.most)};
  }
  config::RealLimits Reals(const nn::TrainingLimit& limit) const {
    return stored_ ? kNotNegative : config::RealLimits{limit.least, limit.most};
  }

 private:
  const bool stored_;
};

ClientSettings ReadClient(const config::ConfigSection& section, const Limits& limits) {
  ClientSettings client;
  client.workload = section.Choice("workload", client.workload, {"self_supervised"});
  client.local_steps = Count(section, "local_steps", client.local_steps, limits.Counts(nn::kLocalStepsLimit));
  client.batch = Count(section, "batch", client.batch, limits.Counts(nn::kBatchLimit));
  client.learning_rate =
      section.Real("learning_rate", client.learning_rate, limits.Reals(nn::kLearningRateLimit));
  client.momentum = section.Real("momentum", client.momentum, limits.Reals(nn::kMomentumLimit));
  client.weight_decay =
      section.Real("weight_decay", client.weight_decay, limits.Reals(nn::kWeightDecayLimit));
  client.proximal_mu = section.Real("proximal_mu", 0, limits.Reals(nn::kProximalLimit));
  client.ema_lambda = section.Real("ema_lambda", 0, limits.Reals(nn::kEmaLambdaLimit));
  client.encoding = parameters::ParseUpdateEncoding(
                        section.Choice("encoding", "float32", {"float32", "float16", "int8", "int12"}))
                        .value_or(parameters::UpdateEncoding::kFloat32);
  client.seed = static_cast<std::uint64_t>(section.Integer("seed", 1, kSeed));
  client.schedule = section.Boolean("schedule", client.schedule);
  client.method = section.Choice("method", client.method, {"simsiam", "byol"});
  client.augmentation = ReadAugmentation(section, client.augmentation);
  client.target_decay =
      section.Real("target_decay", client.target_decay, limits.Reals(nn::kTargetDecayLimit));
  return client;
}

nn::EncoderOptions ReadEncoder(const config::ConfigSection& section, const Limits& limits) {
  constexpr std::int64_t kMaxGrid = 28;
  nn::EncoderOptions encoder;
  if (const auto channels = section.Integers("channels", limits.Counts(nn::kChannelsLimit));
      !channels.empty()) {
    encoder.channels.assign(channels.begin(), channels.end());
  }
  encoder.grid = Count(section, "grid", static_cast<std::uint32_t>(encoder.grid), {1, kMaxGrid});
  encoder.quantised = section.Boolean("quantised", encoder.quantised);
  if (encoder.quantised) encoder.activation = nn::EncoderActivation::kHardClip;
  const std::string norm =
      section.Choice("norm", encoder.quantised ? "none" : "batch", {"batch", "filter_response", "none"});
  if (norm == "filter_response") encoder.norm = nn::EncoderNorm::kFilterResponse;
  if (norm == "none") encoder.norm = nn::EncoderNorm::kNone;
  return encoder;
}

PrivacySettings ReadPrivacy(const config::ConfigSection& section) {
  PrivacySettings privacy;
  privacy.secure_aggregation = section.Boolean("secure_aggregation", false);
  privacy.noise_multiplier = section.Real("noise_multiplier", 0, kNotNegative);
  privacy.delta = section.Real("delta", privacy.delta, {0, 1});
  privacy.noise_seed = static_cast<std::uint64_t>(section.Integer("noise_seed", 0, kSeed));
  return privacy;
}

BufferSettings ReadBuffer(const config::ConfigSection& section, std::uint32_t min_nodes) {
  BufferSettings buffer;
  buffer.size = min_nodes;
  buffer.size = Count(section, "size", buffer.size, {1, 65'536});
  buffer.max_staleness = Count(section, "max_staleness", buffer.max_staleness, {0, 1'000});
  buffer.staleness_exponent = section.Real("staleness_exponent", buffer.staleness_exponent, kNotNegative);
  return buffer;
}

RunConfig ReadRun(const config::ConfigSection& root, bool stored) {
  const Limits limits(stored);
  RunConfig config;
  config.name = root.RequiredText("name");
  config.model_file = root.Text("model", "");
  config.rounds = Count(root, "rounds", config.rounds, kFromOne);
  config.min_nodes = Count(root, "min_nodes", config.min_nodes, kFromOne);
  config.max_nodes = Count(root, "max_nodes", config.max_nodes, kFromOne);
  config.quorum = Count(root, "quorum", config.min_nodes, kFromOne);
  config.sample_fraction = root.Real("sample_fraction", 1, {0, 1});
  config.deadline_ns =
      static_cast<std::int64_t>(root.Real("deadline_s", 60, {0.001, kMaxDeadlineS}) * kNsPerS);
  config.weighting = root.Choice("weighting", "samples", {"samples", "uniform"}) == "samples"
                         ? UpdateWeighting::kSamples
                         : UpdateWeighting::kUniform;
  config.max_samples = static_cast<std::uint64_t>(root.Integer("max_samples", 1'000'000'000, {1, kSeed.max}));
  config.max_element = root.Real("max_element", config.max_element, limits.Reals(nn::kMaxElementLimit));
  config.clip_norm = root.Real("clip_norm", 0, limits.Reals(nn::kClipNormLimit));
  config.strategy = ReadStrategy(root.Section("strategy"));
  config.encoder = ReadEncoder(root.Section("encoder"), limits);
  config.client = ReadClient(root.Section("client"), limits);
  config.privacy = ReadPrivacy(root.Section("privacy"));
  config.buffer = ReadBuffer(root.Section("buffer"), config.min_nodes);
  config.evaluation.every_rounds = Count(root.Section("evaluation"), "every_rounds", 1, kAny);
  // What single limits cannot say.
  const absl::Status status = Validate(config);
  for (const absl::string_view fault : absl::StrSplit(status.message(), "; ", absl::SkipEmpty())) {
    root.Fault("", std::string(fault));
  }
  const absl::Status encoder = stored ? absl::OkStatus() : nn::Validate(config.encoder);
  if (!encoder.ok()) root.Fault("", std::string(encoder.message()));
  return config;
}

absl::StatusOr<RunConfig> Parse(std::string_view text, std::string_view path, bool stored) {
  absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Parse(text, path);
  if (!file.ok()) return file.status();
  RunConfig config = ReadRun(file->Root(), stored);
  if (absl::Status status = file->Finish(); !status.ok()) return status;
  return config;
}

}  // namespace

RunConfig ReadRunConfig(const config::ConfigFile& file) { return ReadRun(file.Root(), false); }

absl::StatusOr<RunConfig> ParseRunConfig(std::string_view text, std::string_view path) {
  return Parse(text, path, false);
}

absl::StatusOr<RunConfig> ParseStoredRunConfig(std::string_view text, std::string_view path) {
  return Parse(text, path, true);
}

}  // namespace tributary::learning
