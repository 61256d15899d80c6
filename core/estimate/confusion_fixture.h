// Classifiers with a known confusion matrix: every expectation is a finite sum, so tests need no sampling.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/estimate/categorical.h"

namespace tributary::estimate {

inline constexpr std::size_t kConfusedClasses = 4;

// probability[c][x]: that the classifier says x where the class is c. Rows sum to 1.
using Confusion = std::array<std::array<double, kConfusedClasses>, kConfusedClasses>;

// Says the class with probability `accuracy`; its errors are uneven.
inline Confusion ClassifierOf(double accuracy) {
  Confusion confusion;
  const double error = 1 - accuracy;
  for (std::size_t c = 0; c < kConfusedClasses; ++c) {
    for (std::size_t step = 0; step < kConfusedClasses; ++step) {
      const std::array<double, kConfusedClasses> shares = {accuracy, error * 0.5, error * 0.3, error * 0.2};
      confusion[c][(c + step) % kConfusedClasses] = shares[step];
    }
  }
  return confusion;
}

// The log-probabilities of the classes after `said`, for this prior.
inline std::vector<double> PosteriorOf(const Confusion& confusion, std::size_t said,
                                       const std::vector<double>& prior) {
  std::vector<double> log_probabilities;
  for (std::size_t c = 0; c < kConfusedClasses; ++c) {
    log_probabilities.push_back(std::log(prior[c] * confusion[c][said]));
  }
  Normalise(log_probabilities);
  return log_probabilities;
}

// The evidence of `said`, `confidence` times as strong as it should be.
inline std::vector<float> EvidenceOf(const Confusion& confusion, std::size_t said, double confidence = 1) {
  std::vector<double> log_probabilities = PosteriorOf(confusion, said, {0.25, 0.25, 0.25, 0.25});
  for (double& value : log_probabilities) value *= confidence;
  Normalise(log_probabilities);
  const std::vector<float> claimed(log_probabilities.begin(), log_probabilities.end());
  std::vector<float> evidence(claimed.size());
  ToEvidence<float>(claimed, {}, 1, evidence);
  return evidence;
}

}  // namespace tributary::estimate
