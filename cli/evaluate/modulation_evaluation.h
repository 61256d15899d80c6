// How well a network recognises modulations, alone and with others, on held-out bursts through held-out
// channels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/evaluate/classification_figures.h"
#include "cli/train/burst_set.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/radio/burst_generator.h"
#include "fpga/model/number_format.h"

namespace tributary::cli {

// The bursts of one receiver that a vote or a conflation takes ([MOD]).
inline constexpr std::size_t kSuccessiveBursts = 10;
inline constexpr std::size_t kMostReceivers = 8;

struct ModulationEvaluationOptions {
  fpga::NumberFormat format = fpga::NumberFormat::kFloat;
  radio::BurstOptions domain;      // its definition of the ratio counts
  std::size_t transmissions = 50;  // of each modulation at each ratio
  std::uint64_t seed = 20'260;     // no training meets these bursts
};

// One way to decide on a transmission.
struct DecisionFigures {
  std::string name;  // "one", "vote_of_10", "conflation_of_10", "receivers_2" …, "pool_2" …
  std::array<ClassificationFigures, kSnrs> by_snr;  // from -20 to 18 dB

  ClassificationFigures all() const;
};

// "one": each burst alone. "vote_of_10" and "conflation_of_10": ten bursts of one receiver, each with a
// channel of its own. "receivers_2" to "receivers_8": the same burst at several receivers, conflated.
// "pool_2" to "pool_8": the same tuples in a log-linear pool. Both fuse as an aggregator does whose classes
// are equally likely before: core/estimate/categorical.h, core/estimate/log_linear_pool.h.
using ModulationEvaluation = std::vector<DecisionFigures>;

// The decision of this name, which the evaluation has.
const DecisionFigures& FindDecision(const ModulationEvaluation& evaluation, std::string_view name);

// Runs what a node runs. Errors: InvalidArgument for a network with other classes than radio::kModulations;
// those of CreateAccelerator and BurstGenerator::Create.
absl::StatusOr<ModulationEvaluation> EvaluateModulation(const nn::ModulationNetwork& network,
                                                        const ModulationEvaluationOptions& options);

}  // namespace tributary::cli
