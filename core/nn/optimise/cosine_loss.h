// The negative cosine between predictions and targets; targets get no gradient (SimSiam's stop-gradient).
#pragma once

#include <cstddef>
#include <span>

namespace tributary::nn {

// Mean over the batch of −cos(p, z), both feature-major [features × batch]; writes weight times its gradient
// with respect to p. A vector of zeros has the cosine 0 and no gradient.
double CosineLoss(std::span<const float> p, std::span<const float> z, std::size_t batch, float weight,
                  std::span<float> p_gradient);

// cosines[n] = cos(p, z) of each sample.
void Cosines(std::span<const float> p, std::span<const float> z, std::size_t batch, std::span<float> cosines);

// Collapse check: the deviation of each component of the unit-length z over the batch, averaged over the
// components, times √features. 1 for evenly spread directions, 0 if all are equal. norms: [batch],
// overwritten.
double Spread(std::span<const float> z, std::size_t batch, std::span<double> norms);

}  // namespace tributary::nn
