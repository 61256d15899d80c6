#include "core/learning/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/nn/beacon/beacon_sums.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/encoder/training_limits.h"
#include "core/privacy/secure_aggregation.h"
#include "core/status/faults.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

bool ValidName(std::string_view name) { return !name.empty() && name.front() != '.' && IsPlainName(name); }

// Judges the numbers of the tables below.
auto Judge(std::string_view section, Faults& faults) {
  return [section, &faults](std::string_view key, const auto& number, const auto& limits, config::Help) {
    faults.Check(limits.Admits(static_cast<decltype(limits.min)>(number)), fmt::format("{}{}", section, key),
                 fmt::format("must be {}, found {}", config::Range(limits), number));
  };
}

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
constexpr config::IntegerLimits kFromOne = {1, kMaxCount};
constexpr config::IntegerLimits kAny = {0, kMaxCount};
constexpr config::RealLimits kNotNegative = {.min = 0};
constexpr config::RealLimits kPositive = {.min = 0, .above_min = true};
constexpr config::RealLimits kShare = {.min = 0, .max = 1, .below_max = true};

// The tables: `take` gets the key of each number, the number, its limits and what it means. A file is read by
// the same rows by which Validate judges.

void StrategyNumbers(auto& strategy, const auto& take) {
  take("learning_rate", strategy.learning_rate, kPositive, "the server's; fedadam and fedyogi: default 0.01");
  take("momentum", strategy.momentum, kShare, "fedavgm");
  take("beta1", strategy.beta1, kShare, "fedadam, fedyogi");
  take("beta2", strategy.beta2, kShare, "fedadam, fedyogi");
  take("tau", strategy.tau, kPositive, "fedadam, fedyogi: degree of adaptivity");
  take("trim", strategy.trim, config::RealLimits{.min = 0, .max = 0.5, .below_max = true},
       "trimmed_mean: share left out at each end, rounded down to whole updates");
  take("byzantine", strategy.byzantine, config::IntegerLimits{0, 10'000},
       "multi_krum: hostile updates to withstand; needs quorum >= 2 * byzantine + 3");
  take("selected", strategy.selected, kAny, "multi_krum: updates to average; 0: all but the hostile ones");
}

void RunNumbers(auto& run, ClientLimits limits, const auto& take) {
  take("rounds", run.rounds, kFromOne, "to commit");
  take("min_nodes", run.min_nodes, kFromOne,
       "connected nodes that a round needs to start; with fewer the run waits; at most max_nodes");
  take("max_nodes", run.max_nodes, config::IntegerLimits{1, 10'000}, "nodes that may join");
  take(
      "quorum", run.quorum, kFromOne,
      "updates that a round needs; with fewer the model stays as it is. A round waits for at least this many "
      "nodes; default: min_nodes");
  take("sample_fraction", run.sample_fraction, config::RealLimits{.min = 0, .max = 1, .above_min = true},
       "probability that a connected node is asked; drawn again if fewer than the quorum are");
  take("max_samples", run.max_samples, config::IntegerLimits{1},
       "largest number of samples that a node may claim");
  const bool stored = IsStored(limits);
  take("max_element", run.max_element,
       config::RealLimits{stored ? 0 : nn::kMaxElementLimit.least, nn::kMaxElementLimit.most, stored},
       "an update with a larger element, of either sign, is refused; the sum's resolution is proportional to "
       "it");
}

void PrivacyNumbers(auto& privacy, const auto& take) {
  take("noise_multiplier", privacy.noise_multiplier, kNotNegative,
       "differential privacy; needs clip_norm and weighting = \"uniform\"");
  take("delta", privacy.delta, config::RealLimits{.min = 0, .max = 1, .above_min = true, .below_max = true},
       "epsilon is stated for it");
}

void BufferNumbers(auto& buffer, const auto& take) {
  take("size", buffer.size, config::IntegerLimits{1, 65'536},
       "fedbuff: updates per version of the model; default: min_nodes");
  take("max_staleness", buffer.max_staleness, config::IntegerLimits{0, 1'000},
       "fedbuff: versions that an update may be behind");
  take("staleness_exponent", buffer.staleness_exponent, kNotNegative,
       "fedbuff: weight × (1 + staleness)^−exponent");
}

bool Robust(StrategyKind kind) {
  return kind == StrategyKind::kMedian || kind == StrategyKind::kTrimmedMean ||
         kind == StrategyKind::kMultiKrum;
}

void CheckClient(const RunConfig& config, Faults& faults) {
  const v1::ClientSettings& client = config.client;
  for (const auto& [field, what] : FaultsOf(client, ClientLimits::kStored)) {
    const bool at_top = field == ClipNormSetting().field->name();
    faults.Check(false, at_top ? field : "client." + field, what);
  }
  // A trainer takes 0; a run with it learns nothing.
  faults.Check(client.learning_rate() > 0, "client.learning_rate", "must be positive");
  // Averages beyond these diverge, in a stored run too.
  faults.Check(client.momentum() < 1, "client.momentum", "must be below 1");
  faults.Check(client.target_decay() <= 1, "client.target_decay", "must be at most 1");
  faults.Check(client.method() != "simclr" || client.temperature() > 0, "client.temperature",
               "must be above 0 for the method simclr");
  const bool external = client.workload() == kExternal;
  faults.Check(!external || !client.trainer().empty(), "client.trainer",
               "must name the nodes' program if the workload is external");
  const StrategyKind kind = config.strategy.kind;
  faults.Check(client.workload() == kSelfSupervised || kind != StrategyKind::kFedEma, "strategy.kind",
               fmt::format("fedema mixes models in the node; the workload {} cannot", client.workload()));
  const bool own_loss =
      client.workload() == kBeacon || client.workload() == kModulation || client.workload() == kPositioning;
  faults.Check(
      !own_loss || kind != StrategyKind::kFedProx, "strategy.kind",
      fmt::format("fedprox adds to the loss in the node; the workload {} cannot", client.workload()));
  faults.Check(client.encoding() != v1::UPDATE_ENCODING_TOPK || !Robust(kind), "client.encoding",
               "topk leaves most of an update out, and this strategy would see zeros");
  faults.Check(kind != StrategyKind::kFedProx || client.proximal_mu() > 0, "client.proximal_mu",
               "must be above 0 for the strategy fedprox");
  faults.Check(kind != StrategyKind::kFedEma || client.ema_lambda() > 0, "client.ema_lambda",
               "must be above 0 for the strategy fedema");
}

// Sums of all boards: nothing may scale, round or leave out a part.
void CheckSecondOrder(const RunConfig& config, Faults& faults) {
  if (config.strategy.kind != StrategyKind::kLevenbergMarquardt) return;
  const v1::ClientSettings& client = config.client;
  faults.Check(client.workload() == kBeacon, "client.workload", "must be beacon for levenberg_marquardt");
  faults.Check(client.encoding() == v1::UPDATE_ENCODING_FLOAT32, "client.encoding",
               "must be float32 for levenberg_marquardt");
  faults.Check(client.clip_norm() == 0, "clip_norm", "must be 0 for levenberg_marquardt");
  faults.Check(config.weighting == UpdateWeighting::kUniform, "weighting",
               "must be uniform for levenberg_marquardt");
  faults.Check(config.privacy.noise_multiplier == 0, "privacy.noise_multiplier",
               "must be 0 for levenberg_marquardt");
  faults.Check(config.sample_fraction == 1, "sample_fraction", "must be 1 for levenberg_marquardt");
  faults.Check(
      config.quorum == config.max_nodes, "quorum",
      "must be max_nodes for levenberg_marquardt: every board answers, or the round changes nothing");
  faults.Check(config.max_nodes <= nn::kMaxBeaconBoards, "max_nodes",
               fmt::format("must be at most {} for levenberg_marquardt", nn::kMaxBeaconBoards));
  faults.Check(config.max_element >= nn::kMaxBeaconDigit, "max_element",
               fmt::format("must be at least {} for levenberg_marquardt", nn::kMaxBeaconDigit));
}

void CheckPrivacy(const RunConfig& config, Faults& faults) {
  const PrivacySettings& privacy = config.privacy;
  PrivacyNumbers(privacy, Judge("privacy.", faults));
  if (privacy.noise_multiplier > 0) {
    constexpr std::string_view kNoise = "privacy.noise_multiplier";
    faults.Check(config.client.clip_norm() > 0, kNoise, "needs clip_norm above 0");
    faults.Check(config.weighting == UpdateWeighting::kUniform, kNoise, "needs weighting = \"uniform\"");
    faults.Check(!Robust(config.strategy.kind), kNoise, "needs a strategy that takes the mean");
    faults.Check(!config.asynchronous(), kNoise, "does not go with fedbuff");
  }
  if (privacy.secure_aggregation) {
    constexpr std::string_view kMasking = "privacy.secure_aggregation";
    faults.Check(!Robust(config.strategy.kind), kMasking,
                 "hides the updates that this strategy would have to see");
    faults.Check(!config.asynchronous(), kMasking, "needs rounds: not with fedbuff");
    faults.Check(config.max_nodes <= privacy::kMaxMaskingNodes, kMasking,
                 fmt::format("takes at most {} nodes", privacy::kMaxMaskingNodes));
    faults.Check(config.quorum >= 2, kMasking, "needs a quorum of at least 2");
  }
}

void CheckClusters(const RunConfig& config, Faults& faults) {
  constexpr std::string_view kMost = "clusters.most";
  const std::uint32_t most = config.clusters.most;
  faults.Check(most != 1 && most <= ClusterSettings::kMost, kMost,
               fmt::format("must be 0, or from 2 to {}, found {}", ClusterSettings::kMost, most));
  if (most == 0) return;
  const StrategyKind kind = config.strategy.kind;
  faults.Check(!Robust(kind) && !config.asynchronous() && kind != StrategyKind::kLevenbergMarquardt, kMost,
               "needs a strategy that takes the mean of a round's updates");
  faults.Check(!config.privacy.secure_aggregation, kMost, "compares updates, which secure aggregation hides");
  faults.Check(config.privacy.noise_multiplier == 0, kMost,
               "tells of single nodes, which differential privacy must not");
  faults.Check(config.max_nodes <= ClusterSettings::kMostNodes, kMost,
               fmt::format("takes at most {} nodes: lower max_nodes", ClusterSettings::kMostNodes));
}

void CheckNodes(const RunConfig& config, Faults& faults) {
  if (config.nodes.empty()) return;
  faults.Check(std::ranges::all_of(config.nodes, config::IsName), "nodes",
               "must be names of nodes: 1 to 128 bytes without control characters");
  faults.Check(config.min_nodes <= config.nodes.size(), "min_nodes", "must be at most the number of nodes");
  faults.Check(config.quorum <= config.nodes.size(), "quorum", "must be at most the number of nodes");
}

Faults FaultsOf(const RunConfig& config) {
  Faults faults;
  faults.Check(ValidName(config.name), "name",
               "must be 1 to 64 letters, digits, '-', '_' or '.', and not start with '.'");
  StrategyNumbers(config.strategy, Judge("strategy.", faults));
  CheckClient(config, faults);
  RunNumbers(config, ClientLimits::kStored, Judge("", faults));
  faults.Check(config.min_nodes <= config.max_nodes, "min_nodes", "must be at most max_nodes");
  faults.Check(config.quorum <= config.max_nodes, "quorum", "must be at most max_nodes");
  faults.Check(config.deadline_ns > 0, "deadline_s", "must be positive");
  if (config.asynchronous()) {
    BufferNumbers(config.buffer, Judge("buffer.", faults));
    // A node sends one update per version of the model: a larger buffer would wait for its deadline.
    faults.Check(config.buffer.size <= config.min_nodes, "buffer.size", "must be at most min_nodes");
    faults.Check(config.quorum <= config.buffer.size, "quorum", "must be at most buffer.size with fedbuff");
  }
  if (config.strategy.kind == StrategyKind::kMultiKrum) {
    faults.Check(config.quorum >= 2 * config.strategy.byzantine + 3, "quorum",
                 "must be at least 2 * byzantine + 3 for multi_krum");
  }
  CheckPrivacy(config, faults);
  CheckSecondOrder(config, faults);
  CheckClusters(config, faults);
  CheckNodes(config, faults);
  return faults;
}

}  // namespace

absl::Status Validate(const RunConfig& config) { return FaultsOf(config).Result(); }

bool RunConfig::Admits(std::string_view node) const { return nodes.empty() || nodes.contains(node); }

std::string_view RunConfig::WhyNoPartialSums() const {
  if (privacy.secure_aggregation) return "it masks updates between the nodes themselves";
  if (asynchronous()) return "fedbuff weighs each update by its age";
  if (Robust(strategy.kind)) return "its strategy looks at single updates";
  if (clusters.most > 0) return "it compares single updates";
  if (client.clip_norm() > 0) return "it scales single updates down";
  if (weighting == UpdateWeighting::kUniform) return "it gives each node that it knows one vote";
  return {};
}

namespace {

constexpr double kNsPerS = 1e9;
constexpr double kMaxDeadlineS = 7 * 86'400.0;

auto Reader(const config::ConfigSection& section) {
  return [section](std::string_view key, auto& number, const auto& limits, config::Help help) {
    section.Read(key, number, limits, help);
  };
}

StrategyOptions ReadStrategy(const config::ConfigSection& section) {
  StrategyOptions strategy;
  section.Choose("kind", strategy.kind, {kStrategyNames.begin(), kStrategyNames.end()},
                 "how updates change the model");
  const bool adaptive = strategy.kind == StrategyKind::kFedAdam || strategy.kind == StrategyKind::kFedYogi;
  if (adaptive) strategy.learning_rate = 0.01;
  StrategyNumbers(strategy, Reader(section));
  return strategy;
}

nn::EncoderOptions ReadEncoder(const config::ConfigSection& section, bool classifier, ClientLimits limits) {
  constexpr std::int64_t kMaxGrid = static_cast<std::int64_t>(nn::kImageSideLimit.most) / 2;  // halved once
  nn::EncoderOptions encoder;
  section.Read("side", encoder.side, IntegersWithin(nn::kImageSideLimit, limits),
               "pixels of the nodes' images; used, as all of this section, if model is empty");
  section.Read("input_channels", encoder.input_channels, IntegersWithin(nn::kInputChannelsLimit, limits),
               "of the nodes' images: 1 if grey, 3 if in colour");
  std::vector<std::int64_t> channels(encoder.channels.begin(), encoder.channels.end());
  section.Read("channels", channels, IntegersWithin(nn::kChannelsLimit, limits),
               "of each stage, which halves the side");
  if (!channels.empty()) encoder.channels.assign(channels.begin(), channels.end());
  section.Read("grid", encoder.grid, {1, kMaxGrid},
               "features: channels × grid × grid; for a side of 28 at most 14 with one stage, 7 with two, 3 "
               "with three, 1 with four");
  section.Read("quantised", encoder.quantised,
               "8-bit weights and activations, as the tensor unit; norm = \"none\"");
  if (encoder.quantised) {
    encoder.activation = nn::EncoderActivation::kHardClip;
    encoder.norm = nn::EncoderNorm::kNone;
  }
  if (classifier && !encoder.quantised) encoder.norm = nn::EncoderNorm::kFilterResponse;
  section.Choose("norm", encoder.norm, {"batch", "filter_response", "none"},
                 "filter_response needs no running statistics; default of the workload classifier");
  return encoder;
}

// The message begins with the key, as "encoder.grid must be …".
void RecordEncoderFault(const absl::Status& status, const config::ConfigFile& file) {
  if (status.ok()) return;
  const std::string_view message(status.message().data(), status.message().size());
  const std::size_t end = std::min(message.find_first_of(": "), message.size());
  std::string_view what = message.substr(end);
  what.remove_prefix(std::min(what.find_first_not_of(": "), what.size()));
  file.Fault(message.substr(0, end), what);
}

PrivacySettings ReadPrivacy(const config::ConfigSection& section) {
  PrivacySettings privacy;
  section.Read("secure_aggregation", privacy.secure_aggregation, "the aggregator learns only the sum");
  PrivacyNumbers(privacy, Reader(section));
  section.Read("noise_seed", privacy.noise_seed, {0},
               "for the noise and the draw of nodes; 0: from the system's entropy, known to nobody");
  return privacy;
}

}  // namespace

RunConfig ReadRunConfig(const config::ConfigFile& file, ClientLimits limits) {
  const config::ConfigSection root = file.Root();
  RunConfig config;
  root.Read("name", config.name,
            config::Required("1 to 64 letters, digits, '-', '_', '.'; not starting with '.'"));
  root.Read("model", config.model_file, "safetensors to start from; empty: a fresh encoder");
  RunNumbers(config, limits, Reader(root));
  if (!root.Has("quorum")) config.quorum = config.min_nodes;
  std::vector<std::string> nodes;
  root.Read("nodes", nodes, "names of the nodes that may take part; empty: all");
  config.nodes.insert(nodes.begin(), nodes.end());
  double deadline_s = static_cast<double>(config.deadline_ns) / kNsPerS;
  root.Read("deadline_s", deadline_s, {0.001, kMaxDeadlineS},
            "for the training, from the start of the round");
  config.deadline_ns = static_cast<std::int64_t>(deadline_s * kNsPerS);
  root.Choose("weighting", config.weighting, {"samples", "uniform"},
              "of updates: by the samples of a node, or each node the same");
  config.strategy = ReadStrategy(root.Section("strategy"));
  const config::ConfigSection encoder = root.Section("encoder");
  config.encoder = ReadEncoder(encoder, root.Section("client").Is("workload", kClassifier), limits);
  encoder.Read("classes", config.classes, IntegersWithin(nn::kClassesLimit, limits),
               "of a classifier whose head is shared; labels count from 0");
  config.client = ReadClientSettings(root, config.rounds, limits);
  config.privacy = ReadPrivacy(root.Section("privacy"));
  const config::ConfigSection buffer = root.Section("buffer");
  BufferNumbers(config.buffer, Reader(buffer));
  if (!buffer.Has("size")) config.buffer.size = config.min_nodes;
  root.Section("evaluation")
      .Read("every_rounds", config.evaluation.every_rounds, kAny,
            "the aggregator judges the model after so many rounds, and leaves out those that come while it "
            "is judging; 0: never");
  root.Section("clusters")
      .Read("most", config.clusters.most, {0, ClusterSettings::kMost},
            "clusters of nodes that fit together, looked for in their updates; 0: not looked for");
  // What single limits cannot say.
  for (const auto& [key, what] : FaultsOf(config)) file.Fault(key, what);
  if (IsStored(limits)) return config;
  if (config.client.workload() == kSelfSupervised) RecordEncoderFault(nn::Validate(config.encoder), file);
  if (config.client.workload() == kClassifier) {
    RecordEncoderFault(nn::Validate(nn::SupervisedOptions{.encoder = config.encoder}), file);
  }
  return config;
}

absl::StatusOr<RunConfig> ParseRunConfig(std::string_view text, std::string_view path, ClientLimits limits) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Parse(text, path));
  RunConfig config = ReadRunConfig(file, limits);
  RETURN_IF_ERROR(file.Finish());
  return config;
}

std::string RunNameIn(std::string_view text) {
  const absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Parse(text, "run");
  std::string name;
  if (file.ok()) file->Root().Read("name", name);
  return ValidName(name) ? name : "";
}

}  // namespace tributary::learning
