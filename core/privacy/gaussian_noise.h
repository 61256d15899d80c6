// The noise of client-level differential privacy [McMahan18].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/cipher.h"

namespace tributary::privacy {

// The key of one round's noise. Seed 0: from the system's entropy; else derived from seed and round, for
// repeatable runs.
absl::StatusOr<Key32> NoiseKey(std::uint64_t seed, std::uint32_t round);

// Adds independent N(0, deviation²) to every element: Box–Muller over AES-256-CTR, equal for equal keys. A
// mean of n updates clipped to C needs deviation = noise_multiplier · C / n. Epsilon holds for real numbers:
// the gaps of floating point leak to an attacker with the exact sums [Mironov12]. Errors: InvalidArgument
// unless the deviation is positive and finite; Internal if OpenSSL fails.
absl::Status AddGaussianNoise(const Key32& key, double deviation, std::span<float> values);

// The factor that scales an update down to an L2 norm of at most `clip_norm`. It is 1 for a short update and
// for a clip_norm of 0 (no clipping).
double ClipFactor(double sum_of_squares, double clip_norm);

}  // namespace tributary::privacy
