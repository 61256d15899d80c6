// Which strategy a run has, and its options; aggregator/learning/rules/strategy.h is how it works.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::learning {

enum class StrategyKind : std::uint8_t {
  kFedAvg,   // [McMahan17]
  kFedProx,  // [Li20]: FedAvg here; the node adds the proximal term of ClientSettings
  kFedEma,   // [Zhuang22]: FedAvg here; the node keeps part of its own model (ema_lambda of ClientSettings)
  kFedAvgM,  // [Hsu19]: momentum at the server
  kFedAdam,  // [Reddi21]
  kFedYogi,  // [Reddi21]
  kFedBuff,  // [Nguyen22]: FedAvg of a buffer of asynchronous updates
  kMedian,   // [Yin18]: coordinate-wise
  kTrimmedMean,  // [Yin18]: coordinate-wise
  kMultiKrum,    // [Blanchard17]
};

// As a run file has them, in the order of StrategyKind.
inline constexpr std::array<std::string_view, 10> kStrategyNames = {
    "fedavg",  "fedprox", "fedema", "fedavgm",      "fedadam",
    "fedyogi", "fedbuff", "median", "trimmed_mean", "multi_krum"};

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

// InvalidArgument, naming every fault.
absl::Status Validate(const StrategyOptions& options);

}  // namespace tributary::learning
