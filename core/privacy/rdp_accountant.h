// The privacy that a run has spent: Rényi differential privacy of the sampled Gaussian mechanism.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::privacy {

// Adds up rounds. In a round each node takes part with probability `sample_fraction` (Poisson sampling), and
// the sum gets Gaussian noise of `noise_multiplier` × the clipping norm. Orders 2 … 256 ([Mironov19], integer
// orders); converted by [Balle20], theorem 21. Neighbouring: one node more or less.
class RdpAccountant {
 public:
  // Errors: InvalidArgument unless 0 < sample_fraction ≤ 1 and noise_multiplier is positive and finite.
  static absl::StatusOr<RdpAccountant> Create(double noise_multiplier, double sample_fraction);

  // Epsilon after `rounds` rounds at this delta (0 < delta < 1); 0 for no rounds.
  double Epsilon(std::size_t rounds, double delta) const;

 private:
  explicit RdpAccountant(std::vector<double> per_round) : per_round_(std::move(per_round)) {}
  std::vector<double> per_round_;  // RDP of one round, by order
};

// RDP at an integer order ≥ 2 of one round.
double SampledGaussianRdp(double noise_multiplier, double sample_fraction, int order);

}  // namespace tributary::privacy
