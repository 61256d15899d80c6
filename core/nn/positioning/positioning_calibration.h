// How sure a positioning network may be, and which magnitudes it meets.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::nn {

// The factor by which deviations are off: the root of the mean of the squared normalised errors (in two
// dimensions), each bounded by the 99.9 % quantile of chi-square, with as much weight on 1 as `prior` further
// points have.
double DeviationFactor(std::span<const double> squared, double prior);

// PositioningNetwork::activation_range of raw features [n × 1024], n > 0. The input's is a high quantile, as
// in the training of the shipped model.
std::array<float, 6> RangesOf(const PositioningNetwork& network, std::span<const float> features);

}  // namespace tributary::nn
