// The noise of client-level differential privacy [McMahan18].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/cipher.h"

namespace tributary::privacy {

// Of one round: from the system's entropy for seed 0, else derived from seed and round, for runs that must be
// repeatable.
absl::StatusOr<Key32> NoiseKey(std::uint64_t seed, std::uint32_t round);

// Adds independent N(0, deviation²) to every element: Box–Muller over AES-256-CTR, equal for equal keys. The
// mean of n updates that were clipped to C takes deviation = noise_multiplier · C / n. In floating point,
// whose gaps an attacker with the exact sums could read [Mironov12]: epsilon holds for real numbers.
// Errors: InvalidArgument unless the deviation is positive and finite; Internal if OpenSSL fails.
absl::Status AddGaussianNoise(const Key32& key, double deviation, std::span<float> values);

// What a factor has to multiply an update's elements by so that its L2 norm is at most `clip_norm`: 1 for one
// that is short enough, and for a clip_norm of 0 (no clipping).
double ClipFactor(double sum_of_squares, double clip_norm);

}  // namespace tributary::privacy
