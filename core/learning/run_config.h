// What a run of federated learning is: model, strategy, what the nodes do, rounds, quorum, deadline, privacy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/learning/client_settings.h"
#include "core/learning/strategy_options.h"
#include "core/nn/encoder/encoder_options.h"

namespace tributary::learning {

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

struct EvaluationSettings {
  std::uint32_t every_rounds = 1;  // 0: never
};

struct RunConfig {
  std::string name;            // 1 … 64 of a-z, A-Z, 0-9, '-', '_', '.'; not starting with '.'
  std::string model_file;      // initial parameters; empty: a fresh encoder drawn from client.seed
  nn::EncoderOptions encoder;  // what a fresh one is made of; who draws it checks it
  StrategyOptions strategy;
  // What each task carries to the nodes; clip_norm and the schedule included.
  v1::ClientSettings client = DefaultClientSettings();
  std::uint32_t rounds = 10;      // to commit
  std::uint32_t quorum = 2;       // updates without which a round changes nothing
  std::uint32_t min_nodes = 2;    // joined, before a round starts
  std::uint32_t max_nodes = 255;  // that may join
  double sample_fraction = 1;     // each joined node is asked with this probability, drawn per round
  // How long the training may take from the start of the round, and each other step of secure aggregation.
  std::int64_t deadline_ns = 60'000'000'000;
  UpdateWeighting weighting = UpdateWeighting::kSamples;
  std::uint64_t max_samples = 1'000'000'000;  // a node may claim
  // Largest |element| of an update; more is refused. Sets the fixed point's bound. Weights move by less than
  // one in a round, the running variances of batch norms by hundreds.
  double max_element = 1024;
  // A parent's run, of which this aggregator adds up a part: its rounds begin by RunState::Begin and it ends
  // by Stop alone, however many rounds there were. Not a key of a file.
  bool relayed = false;
  PrivacySettings privacy;
  BufferSettings buffer;
  EvaluationSettings evaluation;

  bool asynchronous() const { return strategy.kind == StrategyKind::kFedBuff; }
  // Empty if sums of several updates can stand for them; otherwise why not.
  std::string_view WhyNoPartialSums() const;
};

// InvalidArgument, naming every fault.
absl::Status Validate(const RunConfig& config);

// Records its faults in `file`, whose Finish() tells them.
RunConfig ReadRunConfig(const config::ConfigFile& file);

// From TOML. `path` is used in messages. Errors: InvalidArgument with one line per fault. What this takes,
// every node takes as its task (core/nn/encoder/training_limits.h).
absl::StatusOr<RunConfig> ParseRunConfig(std::string_view text, std::string_view path);
// Without the limits of training, for what was taken before: a stored run must not keep the aggregator from
// starting, and a parent's settings come within what a task can say.
absl::StatusOr<RunConfig> ParseStoredRunConfig(std::string_view text, std::string_view path);

}  // namespace tributary::learning
