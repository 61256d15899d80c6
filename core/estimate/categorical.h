// Estimates of a class, as log-probabilities.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::estimate {

// The floor of a source's log-probability, about 1e-9. Lower values mean "never", which no finite training
// set supports. They are raised to the floor, so that one source cannot veto all others.
inline constexpr double kLogProbabilityFloor = -20.0;

// log Σ exp(xᵢ) without overflow; -∞ for an empty or all -∞ input.
double LogSumExp(std::span<const double> values);

// Subtracts the LogSumExp: the probabilities then sum to 1. InvalidArgument if there is no value, one is NaN
// or +∞, or all are -∞.
absl::StatusOr<std::vector<double>> NormaliseLogProbabilities(std::span<const double> values);

// Conflation of independent sources' posteriors with the same prior: Π (pᵢ / prior) · prior, normalised.
// Inputs are [sources][classes] and need not be normalised. Values below the floor (after normalising) are
// raised to it. An empty prior is uniform. InvalidArgument for no source, unequal lengths, a value that is
// NaN or +∞, and a source or prior that is zero for every class.
absl::StatusOr<std::vector<double>> ConflateCategorical(std::span<const std::vector<double>> sources,
                                                        std::span<const double> log_prior,
                                                        double floor = kLogProbabilityFloor);

}  // namespace tributary::estimate
