// What a run of federated learning is: model, strategy, what the nodes do, rounds, quorum, deadline, privacy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/learning/client_settings.h"
#include "core/nn/encoder/encoder_options.h"

namespace tributary::learning {

// Which strategy a run has; aggregator/learning/rules/strategy.h is how it works.
enum class StrategyKind : std::uint8_t {
  kFedAvg,   // [McMahan17]
  kFedProx,  // [Li20]: FedAvg here; the node adds the proximal term of ClientSettings
  kFedEma,   // [Zhuang22]: FedAvg here; the node keeps part of its own model (ema_lambda of ClientSettings)
  kFedAvgM,  // [Hsu19]: momentum at the server
  kFedAdam,  // [Reddi21]
  kFedYogi,  // [Reddi21]
  kFedBuff,  // [Nguyen22]: FedAvg of a buffer of asynchronous updates
  kMedian,   // [Yin18]: coordinate-wise
  kTrimmedMean,         // [Yin18]: coordinate-wise
  kMultiKrum,           // [Blanchard17]
  kLevenbergMarquardt,  // of beacon networks, from the sums of all boards
};

// As a run file has them, in the order of StrategyKind.
inline constexpr std::array<std::string_view, 11> kStrategyNames = {"fedavg",
                                                                    "fedprox",
                                                                    "fedema",
                                                                    "fedavgm",
                                                                    "fedadam",
                                                                    "fedyogi",
                                                                    "fedbuff",
                                                                    "median",
                                                                    "trimmed_mean",
                                                                    "multi_krum",
                                                                    "levenberg_marquardt"};

constexpr std::string_view StrategyName(StrategyKind kind) {
  return kStrategyNames[static_cast<std::size_t>(kind)];
}

struct StrategyOptions {
  StrategyKind kind = StrategyKind::kFedAvg;
  double learning_rate = 1;  // the server's; FedAdam and FedYogi want about 0.01 ([Reddi21], table 8)
  double momentum = 0.9;     // FedAvgM
  double beta1 = 0.9;        // FedAdam, FedYogi
  double beta2 = 0.99;
  double tau = 1e-3;          // their degree of adaptivity: keeps the step finite
  double trim = 0.2;          // TrimmedMean: share of the updates left out at each end, below 0.5
  std::size_t byzantine = 1;  // Multi-Krum: how many updates may be hostile
  std::size_t selected = 0;   // Multi-Krum: how many are averaged; 0: all but the hostile ones
};

enum class UpdateWeighting {
  kSamples,  // by the samples a node trains on
  kUniform,  // each node the same
};

struct PrivacySettings {
  // The aggregator learns the sum alone (core/privacy/secure_aggregation.h).
  bool secure_aggregation = false;
  // Client-level differential privacy: standard deviation of the Gaussian noise on the sum of the updates, in
  // units of client.clip_norm. 0: none. Needs clip_norm and uniform weights.
  double noise_multiplier = 0;
  double delta = 1e-5;  // for which epsilon is stated
  // Seeds the noise and, with noise, the draw of who is asked. 0: the system's entropy, known to nobody. Any
  // other value lets a test repeat the run.
  std::uint64_t noise_seed = 0;
};

// FedBuff.
struct BufferSettings {
  std::uint32_t size = 2;            // updates per step of the model; at most min_nodes
  std::uint32_t max_staleness = 20;  // model versions an update may be behind
  double staleness_exponent = 0.5;   // weight × (1 + staleness)^−exponent (Nguyen et al. 2022)
};

struct ClusterSettings {
  static constexpr std::uint32_t kMost = 16;
  static constexpr std::uint32_t kMostNodes = 255;  // of a run that looks for clusters

  std::uint32_t most = 0;  // clusters of nodes to look for; 0: none
};

struct EvaluationSettings {
  std::uint32_t every_rounds = 1;  // 0: never
};

struct RunConfig {
  std::string name;            // 1 … 64 of a-z, A-Z, 0-9, '-', '_', '.'; not starting with '.'
  std::string model_file;      // initial parameters; empty: a fresh encoder drawn from client.seed
  nn::EncoderOptions encoder;  // what a fresh one is made of; who draws it checks it
  std::uint32_t classes = 10;  // of a fresh classifier with a shared head
  StrategyOptions strategy;
  // What each task carries to the nodes; clip_norm and the schedule included.
  v1::ClientSettings client = DefaultClientSettings();
  std::uint32_t rounds = 10;                      // to commit
  std::uint32_t quorum = 2;                       // updates without which a round changes nothing
  std::uint32_t min_nodes = 2;                    // joined, before a round starts
  std::uint32_t max_nodes = 255;                  // that may join
  std::set<std::string, std::less<>> nodes = {};  // that may take part; empty: all
  double sample_fraction = 1;  // each joined node is asked with this probability, drawn per round
  // How long the training may take from the start of the round, and each other step of secure aggregation.
  std::int64_t deadline_ns = 60'000'000'000;
  UpdateWeighting weighting = UpdateWeighting::kSamples;
  std::uint64_t max_samples = 1'000'000'000;  // a node may claim
  // Largest |element| of an update; more is refused. Sets the fixed point's bound. Weights move by less than
  // one in a round, the running variances of batch norms by hundreds.
  double max_element = 1024;
  // A parent's run, of which this aggregator adds up a part: its rounds begin by RunRules::Begin and it ends
  // by Stop alone, however many rounds there were. Not a key of a file.
  bool relayed = false;
  std::uint32_t defaults = kRunFileDefaults;  // those that its file was read with. Not a key of a file.
  PrivacySettings privacy;
  BufferSettings buffer;
  EvaluationSettings evaluation;
  ClusterSettings clusters;

  bool asynchronous() const { return strategy.kind == StrategyKind::kFedBuff; }
  bool Admits(std::string_view node) const;
  // Empty if sums of several updates can stand for them; otherwise why not.
  std::string_view WhyNoPartialSums() const;
};

// InvalidArgument, naming every fault.
absl::Status Validate(const RunConfig& config);

// Records its faults in `file`, whose Finish() tells them.
RunConfig ReadRunConfig(const config::ConfigFile& file, ClientLimits limits = ClientLimits::kTraining);

// From TOML. `path` is used in messages. Errors: InvalidArgument with one line per fault. What this takes,
// every node takes as its task (core/nn/encoder/training_limits.h). kStored is for what was taken before: a
// stored run must not keep the aggregator from starting, and a parent's settings come within what a task can
// say.
absl::StatusOr<RunConfig> ParseRunConfig(std::string_view text, std::string_view path,
                                         ClientLimits limits = ClientLimits::kTraining);

// The name that a run file gives, also where the rest of it is at fault; empty if no run may have it.
std::string RunNameIn(std::string_view text);

}  // namespace tributary::learning
