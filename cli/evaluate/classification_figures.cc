#include "cli/evaluate/classification_figures.h"

#include <algorithm>
#include <cmath>

namespace tributary::cli {
namespace {

double Ratio(double part, std::uint64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

}  // namespace

void ClassificationFigures::Add(std::size_t decided, std::size_t truth) {
  ++count_;
  ++confusion_[truth][decided];
}

void ClassificationFigures::Add(std::span<const float> log_probabilities, std::size_t truth) {
  const auto best = std::ranges::max_element(log_probabilities);
  const auto decided = static_cast<std::size_t>(best - log_probabilities.begin());
  Add(decided, truth);
  ++with_probabilities_;
  nll_ -= log_probabilities[truth];
  const double confidence = std::exp(*best);
  const auto bin = static_cast<std::size_t>(confidence * static_cast<double>(kBins));
  Bin& of = bins_[std::min(bin, kBins - 1)];
  ++of.count;
  of.right += decided == truth;
  of.confidence += confidence;
}

void ClassificationFigures::Add(const ClassificationFigures& other) {
  count_ += other.count_;
  for (std::size_t truth = 0; truth < kClasses; ++truth) {
    for (std::size_t k = 0; k < kClasses; ++k) confusion_[truth][k] += other.confusion_[truth][k];
  }
  with_probabilities_ += other.with_probabilities_;
  nll_ += other.nll_;
  for (std::size_t b = 0; b < kBins; ++b) {
    bins_[b].count += other.bins_[b].count;
    bins_[b].right += other.bins_[b].right;
    bins_[b].confidence += other.bins_[b].confidence;
  }
}

double ClassificationFigures::accuracy() const {
  std::uint64_t right = 0;
  for (std::size_t k = 0; k < kClasses; ++k) right += confusion_[k][k];
  return Ratio(static_cast<double>(right), count_);
}

double ClassificationFigures::accuracy(std::size_t truth) const {
  std::uint64_t count = 0;
  for (const std::uint64_t decided : confusion_[truth]) count += decided;
  return Ratio(static_cast<double>(confusion_[truth][truth]), count);
}

double ClassificationFigures::nll() const { return Ratio(nll_, with_probabilities_); }

double ClassificationFigures::expected_calibration_error() const {
  double distance = 0;
  for (const Bin& bin : bins_) distance += std::abs(bin.confidence - static_cast<double>(bin.right));
  return Ratio(distance, with_probabilities_);
}

std::size_t MajorityOf(std::span<const std::size_t> decisions) {
  std::array<std::size_t, ClassificationFigures::kClasses> votes = {};
  for (const std::size_t decision : decisions) ++votes[decision];
  return static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin());
}

}  // namespace tributary::cli
