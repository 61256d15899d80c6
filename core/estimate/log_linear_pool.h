// Fusion of class probabilities whose correlation is unknown.
#pragma once

#include <concepts>
#include <span>
#include <vector>

namespace tributary::estimate {

// The log-linear pool is prior · Π likelihoodᵢ^wᵢ with w ≥ 0 and Σw = 1 [Genest86]. The log-odds of any two
// classes lie between those of the inputs, so it claims nothing that none of them claims: it is to class
// probabilities what covariance intersection is to Gaussians [Hurley02].

// Information of a tuple in nats: the Kullback-Leibler divergence of its probabilities from the prior. Not
// negative.
template <std::floating_point Real>
double InformationOf(std::span<const Real> evidence, std::span<const double> log_prior);

// Turns informations into weights: in proportion to what each input knows, as the closed form of covariance
// intersection does [Niehsen02]. Equal weights if no input knows anything. Equal inputs count once together.
void WeighByInformation(std::span<double> informations);

}  // namespace tributary::estimate
