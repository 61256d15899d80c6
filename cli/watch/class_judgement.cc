#include "cli/watch/class_judgement.h"

#include <algorithm>

namespace tributary::cli {
namespace {

// A probability of zero for the true class; keeps the mean finite, whatever the aggregator sends.
constexpr double kMostNll = 100;

double NllOf(float log_probability) {
  const double nll = -double{log_probability};
  return nll > -1 && nll < kMostNll ? nll : kMostNll;
}

double Ratio(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

// More of `classes` are `truth` than any other class. A tie is not won.
template <std::size_t N>
bool Wins(std::size_t truth, const std::array<std::size_t, N>& classes) {
  const auto own = std::ranges::count(classes, truth);
  return own > 0 && std::ranges::all_of(classes, [&](std::size_t each) {
           return each == truth || std::ranges::count(classes, each) < own;
         });
}

}  // namespace

void ClassJudgement::Add(std::uint32_t subject, std::span<const float> log_probabilities, std::size_t truth) {
  const auto best =
      static_cast<std::size_t>(std::ranges::max_element(log_probabilities) - log_probabilities.begin());
  ++judged_;
  if (best == truth) ++right_;
  nll_sum_ += NllOf(log_probabilities[truth]);

  if (ballots_.size() >= kMaxVoters && !ballots_.contains(subject)) return;
  Ballot& ballot = ballots_[subject];
  if (ballot.truth != truth) ballot = {.truth = truth};
  ballot.classes[ballot.estimates++ % kVotes] = best;
  if (ballot.estimates < kVotes) return;
  ++votes_;
  if (Wins(truth, ballot.classes)) ++votes_won_;
}

ClassFigures ClassJudgement::figures() const {
  return {.judged = judged_,
          .accuracy = Ratio(right_, judged_),
          .nll = judged_ > 0 ? nll_sum_ / static_cast<double>(judged_) : 0.0,
          .votes = votes_,
          .voted_accuracy = Ratio(votes_won_, votes_)};
}

}  // namespace tributary::cli
