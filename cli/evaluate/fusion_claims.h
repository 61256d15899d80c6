// What fusion promises a site of radio receivers, and whether an evaluation bears it out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/evaluate/modulation_evaluation.h"

namespace tributary::cli {

// A promise at one ratio: `value` is better than `reference` by `margin`, which is negative if it is worse.
struct FusionComparison {
  double snr_db = 0;
  double value = 0;
  double reference = 0;
  double margin = 0;
};

struct FusionClaim {
  std::string_view name;     // as JSON has it
  std::string_view promise;  // a sentence
  std::string_view unit;     // of the values: "accuracy" or "nats"
  std::vector<FusionComparison> comparisons;

  // Whether no margin is negative.
  bool holds() const;
  const FusionComparison& worst() const;  // the least margin
};

// Every claim, in a fixed order. The evaluation is one of EvaluateModulation. All receivers are alike, so the
// best single tuple of a claim is that of one receiver.
std::vector<FusionClaim> CheckFusionClaims(const ModulationEvaluation& evaluation);

}  // namespace tributary::cli
