// The steps after a convolution, in one pass over the channel: norm (a factor and a term per image),
// activation, 2×2 maximum pooling.
#pragma once

#include <cstddef>
#include <limits>

#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// Every function takes one channel of Planes. Arrays of [lanes] hold a value for each image; input arrays
// have zeros after the last one.

// min(max(x, 0), ceiling).
struct ClipActivation {
  float ceiling = std::numeric_limits<float>::infinity();
};

// The nearest multiple of `step` (ties to even), clipped to 0 … ceiling, in place. `step`: a power of two.
void RoundAndClip(float* x, const PlaneShape& shape, float step, float ceiling);

// y = factor · x + term; [lanes].
struct NormCoefficients {
  const float* factor;
  const float* term;
};

// Sums over each image; [lanes], overwritten.
struct ImageSums {
  float* sum;        // Σ x
  float* squares;    // Σ x²
  float* magnitude;  // Σ |x|
};
void SumImages(const float* x, const PlaneShape& shape, const ImageSums& sums);

// Writes the channel of side / 2 (rounded down; a last odd row and column are left out) at `pooled`, and at
// `peak` the x that each maximum came from.
void ActivatePool(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
                  const ClipActivation& activation, float* pooled, float* peak);

// Gradient with respect to the normed value y, which reaches only the first maximum of each 2×2 and only
// where 0 < y < ceiling: sums of it over each image, [lanes], overwritten.
// `pooled_shape` is that of the peaks.
struct PoolGradientSums {
  float* sum;      // Σ dy
  float* product;  // Σ dy · x
};
void SumPoolGradient(const float* peak, const PlaneShape& pooled_shape, const NormCoefficients& norm,
                     const ClipActivation& activation, const float* pooled_gradient,
                     const PoolGradientSums& sums);

// Gradient with respect to x: dx = direct · dy + slope · x + sign · (−1, 0, 1 as x) + term at every pixel,
// which is what the norms of this folder need. [lanes].
struct NormGradientCoefficients {
  const float* direct;
  const float* slope;
  const float* sign;
  const float* term;
};

// Writes x_gradient, not x in place.
void ActivatePoolGradient(const float* x, const PlaneShape& shape, const NormCoefficients& norm,
                          const ClipActivation& activation, const float* peak, const float* pooled_gradient,
                          const NormGradientCoefficients& coefficients, float* x_gradient);

}  // namespace tributary::nn
