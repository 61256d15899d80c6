// The last pooling: means of grid × grid areas of each channel, and their gradient.
#pragma once

#include <cstddef>
#include <span>

#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// Feature-major [channels · grid · grid × images]; area g of n runs from side · g / n to side · (g + 1) / n,
// rounded down. grid is at most the side.
void AreaMeans(const Planes& x, std::size_t grid, std::span<float> features);

// Writes every pixel of x_gradient.
void AreaMeansGradient(std::span<const float> feature_gradient, std::size_t grid, Planes& x_gradient);

}  // namespace tributary::nn
