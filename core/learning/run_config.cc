#include "core/learning/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/encoder/training_limits.h"
#include "core/privacy/secure_aggregation.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

bool ValidName(std::string_view name) {
  constexpr std::size_t kMaxLength = 64;
  return !name.empty() && name.size() <= kMaxLength && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

// Collects what is wrong.
class Faults {
 public:
  void Check(bool good, std::string_view what) {
    if (!good) text_ += fmt::format("{}{}", text_.empty() ? "" : "; ", what);
  }
  absl::Status Result() const { return text_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(text_); }

 private:
  std::string text_;
};

bool NotNegative(double value) { return value >= 0 && std::isfinite(value); }

void CheckClient(const RunConfig& config, Faults& faults) {
  const v1::ClientSettings& client = config.client;
  for (const ClientFault& fault : FaultsOf(client, ClientLimits::kStored)) {
    const bool at_top = fault.setting == &ClipNormSetting();
    faults.Check(false,
                 fmt::format("{}{} {}", at_top ? "" : "client.", fault.setting->field->name(), fault.what));
  }
  // A trainer takes 0; a run with it learns nothing.
  faults.Check(client.learning_rate() > 0, "client.learning_rate must be positive");
  // Averages beyond these diverge, in a stored run too.
  faults.Check(client.momentum() < 1, "client.momentum must be below 1");
  faults.Check(client.target_decay() <= 1, "client.target_decay must be at most 1");
  const StrategyKind kind = config.strategy.kind;
  faults.Check(kind != StrategyKind::kFedProx || client.proximal_mu() > 0,
               "strategy fedprox needs client.proximal_mu above 0");
  faults.Check(kind != StrategyKind::kFedEma || client.ema_lambda() > 0,
               "strategy fedema needs client.ema_lambda above 0");
}

bool Robust(StrategyKind kind) {
  return kind == StrategyKind::kMedian || kind == StrategyKind::kTrimmedMean ||
         kind == StrategyKind::kMultiKrum;
}

void CheckPrivacy(const RunConfig& config, Faults& faults) {
  const PrivacySettings& privacy = config.privacy;
  faults.Check(NotNegative(privacy.noise_multiplier), "privacy.noise_multiplier must not be negative");
  faults.Check(privacy.delta > 0 && privacy.delta < 1, "privacy.delta must be between 0 and 1");
  if (privacy.noise_multiplier > 0) {
    faults.Check(config.client.clip_norm() > 0, "privacy.noise_multiplier needs clip_norm above 0");
    faults.Check(config.weighting == UpdateWeighting::kUniform,
                 "privacy.noise_multiplier needs weighting = \"uniform\"");
    faults.Check(!Robust(config.strategy.kind),
                 "privacy.noise_multiplier needs a strategy that takes the mean");
    faults.Check(!config.asynchronous(), "privacy.noise_multiplier does not go with fedbuff");
  }
  if (privacy.secure_aggregation) {
    faults.Check(!Robust(config.strategy.kind),
                 "privacy.secure_aggregation hides the updates that this strategy would have to see");
    faults.Check(!config.asynchronous(), "privacy.secure_aggregation needs rounds: not with fedbuff");
    faults.Check(config.max_nodes <= privacy::kMaxMaskingNodes,
                 fmt::format("privacy.secure_aggregation takes at most {} nodes", privacy::kMaxMaskingNodes));
    faults.Check(config.quorum >= 2, "privacy.secure_aggregation needs a quorum of at least 2");
  }
}

}  // namespace

absl::Status Validate(const StrategyOptions& options) {
  Faults faults;
  const auto share = [](double value) { return value >= 0 && value < 1; };
  faults.Check(options.learning_rate > 0 && std::isfinite(options.learning_rate),
               "learning_rate must be positive");
  faults.Check(share(options.momentum), "momentum must be from 0 to below 1");
  faults.Check(share(options.beta1), "beta1 must be from 0 to below 1");
  faults.Check(share(options.beta2), "beta2 must be from 0 to below 1");
  faults.Check(options.tau > 0 && std::isfinite(options.tau), "tau must be positive");
  faults.Check(options.trim >= 0 && options.trim < 0.5, "trim must be from 0 to below 0.5");
  faults.Check(options.byzantine <= 10'000, "byzantine must be at most 10000");
  return faults.Result();
}

std::string_view RunConfig::WhyNoPartialSums() const {
  if (privacy.secure_aggregation) return "it masks updates between the nodes themselves";
  if (asynchronous()) return "fedbuff weighs each update by its age";
  if (Robust(strategy.kind)) return "its strategy looks at single updates";
  if (client.clip_norm() > 0) return "it scales single updates down";
  if (weighting == UpdateWeighting::kUniform) return "it gives each node that it knows one vote";
  return {};
}

absl::Status Validate(const RunConfig& config) {
  constexpr std::uint32_t kMaxNodes = 10'000;
  Faults faults;
  faults.Check(ValidName(config.name),
               "name must be 1 to 64 letters, digits, '-', '_' or '.', and not start with '.'");
  if (absl::Status status = Validate(config.strategy); !status.ok()) {
    faults.Check(false, std::string(status.message()));
  }
  CheckClient(config, faults);
  faults.Check(config.rounds >= 1, "rounds must be at least 1");
  faults.Check(config.max_nodes >= 1 && config.max_nodes <= kMaxNodes,
               fmt::format("max_nodes must be from 1 to {}", kMaxNodes));
  faults.Check(config.min_nodes >= 1 && config.min_nodes <= config.max_nodes,
               "min_nodes must be from 1 to max_nodes");
  faults.Check(config.quorum >= 1 && config.quorum <= config.max_nodes, "quorum must be from 1 to max_nodes");
  faults.Check(config.sample_fraction > 0 && config.sample_fraction <= 1,
               "sample_fraction must be above 0 and at most 1");
  faults.Check(config.deadline_ns > 0, "deadline_s must be positive");
  faults.Check(config.max_samples >= 1, "max_samples must be at least 1");
  faults.Check(config.max_element > 0 && config.max_element <= nn::kMaxElementLimit.most,
               fmt::format("max_element must be above 0 and at most {}", nn::kMaxElementLimit.most));
  if (config.asynchronous()) {
    // A node sends one update per version of the model: a larger buffer would wait for its deadline.
    faults.Check(config.buffer.size >= 1 && config.buffer.size <= config.min_nodes,
                 "buffer.size must be from 1 to min_nodes");
    faults.Check(config.quorum <= config.buffer.size, "quorum must be at most buffer.size with fedbuff");
    faults.Check(config.buffer.max_staleness <= 1'000, "buffer.max_staleness must be at most 1000");
    faults.Check(NotNegative(config.buffer.staleness_exponent),
                 "buffer.staleness_exponent must not be negative");
  }
  if (config.strategy.kind == StrategyKind::kMultiKrum) {
    faults.Check(config.quorum >= 2 * config.strategy.byzantine + 3,
                 "multi_krum needs a quorum of at least 2 * byzantine + 3");
  }
  CheckPrivacy(config, faults);
  return faults.Result();
}

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
  const std::string kind = section.Choice("kind", "fedavg", {kStrategyNames.begin(), kStrategyNames.end()},
                                          "how updates change the model");
  strategy.kind = static_cast<StrategyKind>(std::ranges::find(kStrategyNames, kind) - kStrategyNames.begin());
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
  if (limits == ClientLimits::kStored) return config;
  const absl::Status encoder = nn::Validate(config.encoder);
  if (!encoder.ok()) root.Fault("", std::string(encoder.message()));
  return config;
}

absl::StatusOr<RunConfig> Parse(std::string_view text, std::string_view path, ClientLimits limits) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Parse(text, path));
  RunConfig config = ReadRun(file.Root(), limits);
  RETURN_IF_ERROR(file.Finish());
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
