#include "core/learning/round_verdict.h"

#include <fmt/format.h>

#include <vector>

namespace tributary::learning {
namespace {

bool ProbeIsWorse(const v1::Evaluation& e) { return e.linear_probe() < e.random_linear_probe(); }
bool NeighboursAreWorse(const v1::Evaluation& e) { return e.knn() < e.random_knn(); }

}  // namespace

bool Collapsed(const v1::Round& round) {
  if (round.accepted() == 0) return false;
  const bool on_tests = round.has_evaluation() && round.evaluation().spread() < kCollapsedSpread;
  return on_tests || (round.has_spread() && round.spread() < kCollapsedSpread);
}

bool ChangedNothing(const v1::Round& round) {
  return round.accepted() > 0 && round.failure().empty() && !round.rolled_back() && round.update_norm() == 0;
}

bool WorseThanUntrained(const v1::Evaluation& evaluation) {
  return ProbeIsWorse(evaluation) || NeighboursAreWorse(evaluation);
}

std::string VerdictText(const v1::Round& round) {
  std::vector<std::string> verdicts;
  if (ChangedNothing(round)) verdicts.emplace_back("left the model as it was");
  if (Collapsed(round)) verdicts.emplace_back("collapsed");
  const v1::Evaluation& evaluation = round.evaluation();
  if (round.has_evaluation() && WorseThanUntrained(evaluation)) {
    const char* by = !NeighboursAreWorse(evaluation) ? "the linear probe"
                     : !ProbeIsWorse(evaluation)     ? "the nearest neighbours"
                                                     : "probe and neighbours";
    verdicts.push_back(fmt::format("worse than untrained by {}", by));
  }
  return fmt::format("{}", fmt::join(verdicts, "; "));
}

}  // namespace tributary::learning
