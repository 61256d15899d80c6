// How often a classifier is right, and whether its probabilities say so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/modulation/modulation_network.h"

namespace tributary::cli {

class ClassificationFigures {
 public:
  static constexpr std::size_t kClasses = nn::kModulationClasses;
  // The expected calibration error [Guo17] compares confidence and accuracy in so many bins.
  static constexpr std::size_t kBins = 15;

  // A decision without probabilities.
  void Add(std::size_t decided, std::size_t truth);
  // The most likely class decides.
  void Add(std::span<const float> log_probabilities, std::size_t truth);
  void Add(const ClassificationFigures& other);

  std::uint64_t count() const { return count_; }
  // All 0 without a decision.
  double accuracy() const;
  double accuracy(std::size_t truth) const;  // of the bursts of one class
  // [truth][decided]
  const std::array<std::array<std::uint64_t, kClasses>, kClasses>& confusion() const { return confusion_; }

  bool has_probabilities() const { return with_probabilities_ > 0; }
  double nll() const;                         // mean of −ln p(truth)
  double expected_calibration_error() const;  // mean distance of confidence and accuracy, over the bins

 private:
  struct Bin {
    std::uint64_t count = 0;
    std::uint64_t right = 0;
    double confidence = 0;  // sum
  };

  std::uint64_t count_ = 0;
  std::array<std::array<std::uint64_t, kClasses>, kClasses> confusion_ = {};
  std::uint64_t with_probabilities_ = 0;
  double nll_ = 0;  // sum
  std::array<Bin, kBins> bins_ = {};
};

// The class that most decisions name; the first of equals.
std::size_t MajorityOf(std::span<const std::size_t> decisions);

}  // namespace tributary::cli
