// What follows a convolution, in one pass while the channel is in the cache: norm (as a factor and a term per
// image), activation, 2×2 maximum pooling.
#pragma once

#include <cstddef>
#include <limits>

#include "core/nn/planes.h"

namespace tributary {

// min(max(x, 0), ceiling), then rounded down to a multiple of `step` unless that is 0.
struct ClipActivation {
  float ceiling = std::numeric_limits<float>::infinity();
  float step = 0;  // a power of two
};

// y = factor · x + term.
struct NormCoefficients {
  float factor = 1;
  float term = 0;
};

struct ImageSums {
  float sum = 0;        // Σ x
  float squares = 0;    // Σ x²
  float magnitude = 0;  // Σ |x|
};

// Of one image's floats, zeros between the rows included.
ImageSums SumImage(const float* image, std::size_t size);

// x: an image of side `side` within Planes; writes the image of side / 2 (rounded down; a last odd row and
// column are left out) with its zeros at `pooled`. The images of a channel must be written in order: up to
// PlaneShape::kSlack zeros are written behind each.
void ActivatePool(const float* x, std::size_t side, const NormCoefficients& norm,
                  const ClipActivation& activation, float* pooled);

// Gradient with respect to the normed value y, which reaches only the first maximum of each 2×2 and only
// where 0 < y < ceiling (straight through the rounding): sums of it over the image.
struct PoolGradientSums {
  float sum = 0;      // Σ dy
  float product = 0;  // Σ dy · x
};
PoolGradientSums SumPoolGradient(const float* x, std::size_t side, const NormCoefficients& norm,
                                 const ClipActivation& activation, const float* pooled_gradient);

// Gradient with respect to x: dx = direct · dy + slope · x + sign · (−1, 0, 1 as x) + term at every pixel,
// which is what the norms of this folder need.
struct NormGradientCoefficients {
  float direct = 1;
  float slope = 0;
  float sign = 0;
  float term = 0;
};

// Writes x_gradient (not x in place) with its zeros; images in order as above.
void ActivatePoolGradient(const float* x, std::size_t side, const NormCoefficients& norm,
                          const ClipActivation& activation, const float* pooled_gradient,
                          const NormGradientCoefficients& coefficients, float* x_gradient);

}  // namespace tributary
