// Client-level differential privacy [McMahan18]: the noise, and the privacy that a run has spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/cryptography.h"

namespace tributary::privacy {

// The key of one round's noise. Seed 0: from the system's entropy; else derived from seed and round, for
// repeatable runs.
absl::StatusOr<Key32> NoiseKey(std::uint64_t seed, std::uint32_t round);

// Adds independent N(0, deviation²) to every element: Box–Muller over AES-256-CTR, equal for equal keys. A
// mean of n updates clipped to C needs deviation = noise_multiplier · C / n. Epsilon holds for real numbers:
// the gaps of floating point leak to an attacker with the exact sums [Mironov12]. Errors: InvalidArgument
// unless the deviation is positive and finite; Internal if OpenSSL fails.
absl::Status AddGaussianNoise(const Key32& key, double deviation, std::span<float> values);

// Epsilon of `rounds` rounds at this delta (0 < delta < 1); 0 for no rounds. In a round each node takes part
// with probability `sample_fraction` (Poisson sampling), and the sum gets Gaussian noise of
// `noise_multiplier` × the clipping norm. Adds up Rényi differential privacy of orders 2 … 256 ([Mironov19],
// integer orders) and converts it by [Balle20], theorem 21. Neighbouring: one node more or less. Errors:
// InvalidArgument unless 0 < sample_fraction ≤ 1 and noise_multiplier is positive and finite.
absl::StatusOr<double> EpsilonAfter(std::size_t rounds, double noise_multiplier, double sample_fraction,
                                    double delta);

// Rényi differential privacy of one round, at an integer order ≥ 2.
double SampledGaussianRdp(double noise_multiplier, double sample_fraction, int order);

}  // namespace tributary::privacy
