#include "core/learning/round_verdict.h"

#include <fmt/format.h>

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

bool WorseThanUntrained(const v1::Evaluation& evaluation) {
  return ProbeIsWorse(evaluation) || NeighboursAreWorse(evaluation);
}

std::string VerdictText(const v1::Round& round) {
  std::string text = Collapsed(round) ? "collapsed" : "";
  const v1::Evaluation& evaluation = round.evaluation();
  if (!round.has_evaluation() || !WorseThanUntrained(evaluation)) return text;
  const char* by = !NeighboursAreWorse(evaluation) ? "the linear probe"
                   : !ProbeIsWorse(evaluation)     ? "the nearest neighbours"
                                                   : "probe and neighbours";
  return fmt::format("{}{}worse than untrained by {}", text, text.empty() ? "" : "; ", by);
}

}  // namespace tributary::learning
