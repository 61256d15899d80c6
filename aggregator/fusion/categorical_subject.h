// Fuses one subject's categorical tuples when they may share leaves or contradict each other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "aggregator/fusion/contribution.h"
#include "aggregator/fusion/site_config.h"

namespace tributary::fusion {

// A tuple is its evidence [classes] (core/estimate/categorical.h).
using CategoricalContribution = Contribution<std::span<const float>>;

struct ClassEstimate {
  LeafSet leaves;
  double surprise_sum = 0;  // over the fused tuples that were judged
  std::size_t judged = 0;   // contributions
};

// Pools the contributions of a group, and multiplies the groups and the prior (FuseContributions). `gate`: a
// log-surprise. Writes the fused log-probabilities [classes]. Not thread-safe; allocates.
ClassEstimate FuseClasses(std::span<CategoricalContribution> contributions, std::span<const double> log_prior,
                          FusionMethod method, std::optional<double> gate,
                          std::span<double> log_probabilities);

}  // namespace tributary::fusion
