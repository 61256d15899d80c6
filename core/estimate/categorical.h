// Probabilities of classes as estimates, and the product of independent ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::estimate {

// What is fused is evidence: for each class the logarithm of its likelihood, up to a constant. Evidence is
// what a tuple says beyond the prior that its probabilities contain, so the evidence of independent tuples
// adds up, and the prior counts once. All logarithms are natural.

// Classes of a site.
inline constexpr std::size_t kLeastClasses = 2;
inline constexpr std::size_t kMostClasses = 256;

// One leaf source makes no class less likely than e^-20 = 2e-9 times its best one. A probability of zero
// therefore never outweighs every other source, and sums stay far inside the range of fp32.
inline constexpr double kDeepestEvidence = 20;

// Probabilities may differ from a sum of 1 by the rounding of half precision.
inline constexpr double kSumTolerance = 1e-3;

// A class that is never expected would be divided by.
inline constexpr double kLeastPrior = 1e-6;

enum class ProbabilityFault { kNotFinite, kNotNormalised };

// Why these log-probabilities of one tuple cannot be used: NaN or +infinity, or a sum of the probabilities
// that is not 1. A log-probability of -infinity is a probability of zero, and valid.
template <std::floating_point Real>
std::optional<ProbabilityFault> FaultOf(std::span<const Real> log_probabilities);

// The evidence of a valid tuple that contains `leaves` leaves: log p - log prior, with 0 for the best class
// and at least -kDeepestEvidence · leaves for the others. `log_prior` is the prior that the probabilities
// contain; empty: uniform. The floor never changes what a child aggregator fused from as many leaves.
template <std::floating_point Real>
void ToEvidence(std::span<const Real> log_probabilities, std::span<const Real> log_prior, std::size_t leaves,
                std::span<Real> evidence);

// log Σ exp(value), for finite values, at least one.
double LogSumExp(std::span<const double> values);

// sum += weight · evidence.
template <std::floating_point Real>
void AddEvidence(std::span<const Real> evidence, double weight, std::span<double> sum);

// Subtracts log Σ exp, so that these are log-probabilities.
void Normalise(std::span<double> log_weights);

// Why these probabilities of the classes are no prior, as a sentence after its name: their number, one below
// kLeastPrior or not finite, or a sum that is not 1. Empty: they are.
template <std::floating_point Real>
std::string PriorFault(std::span<const Real> probabilities, std::size_t classes);

// The logarithms of the prior of so many classes, normalised: uniform if `probabilities` is empty.
std::vector<double> LogPrior(std::span<const double> probabilities, std::size_t classes);

}  // namespace tributary::estimate
