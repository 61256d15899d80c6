// Does a source of class probabilities claim more than it knows? What the others say is the judge.
#pragma once

#include <span>

namespace tributary::estimate {

// Surprise: how much likelier the tuple is if nothing is known than given what the others say,
//
//   P(tuple) / P(tuple | others) = Σ prior·likelihood / Σ others·likelihood,
//
// with the others' probabilities after the prior. If the source is calibrated and independent of the others
// given the class, the expectation is 1 whatever the others say: Σ over tuples of P(tuple | others) ·
// surprise = Σ P(tuple) = 1. It is an e-value [Vovk21]: the probability that it reaches 1/α is at most α
// (Markov). A source that claims too much, or lies, exceeds 1 in the mean; one that claims too little stays
// below.

// The logarithm of the surprise. `log_others`: the others' log-probabilities with the prior, up to a
// constant. Finite.
double LogSurprise(std::span<const float> evidence, std::span<const double> log_prior,
                   std::span<const double> log_others);

// The log-surprise that a calibrated source reaches with a probability of at most 1 - probability. 0 <
// probability < 1.
double LogSurpriseGate(double probability);

}  // namespace tributary::estimate
