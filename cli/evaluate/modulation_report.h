// A page that shows an evaluation: accuracy by ratio as curves, confusion matrices as tables. One file
// without scripts or references.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/evaluate/modulation_evaluation.h"

namespace tributary::cli {

struct EvaluatedDefinition {
  std::string name;  // of the signal-to-noise ratio
  ModulationEvaluation evaluation;
};

// `facts` stand at the top of the page, in their order: what was evaluated, and on what. Text is escaped.
std::string ModulationReport(const std::vector<std::pair<std::string, std::string>>& facts,
                             const std::vector<EvaluatedDefinition>& definitions);

}  // namespace tributary::cli
