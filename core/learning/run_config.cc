#include "core/learning/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "core/nn/encoder/training_limits.h"
#include "core/privacy/secure_aggregation.h"

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

}  // namespace tributary::learning
