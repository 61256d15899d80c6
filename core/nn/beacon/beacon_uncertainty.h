// How sure a trained beacon network is: what its training set leaves open.
#pragma once

#include <span>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "core/nn/optimise/levenberg_marquardt.h"

namespace tributary::nn {

// BeaconNetwork::parameter_factor for these parameters over the problem's patterns.
std::vector<double> FactorOfInverse(const LeastSquaresProblem& problem, std::span<const double> parameters);

// Sets reach_m and reach_radius_m: triples that lie as far apart as possible, each the farthest from those
// before. `ranges_m` is not empty.
void MarkReach(std::span<const BeaconInputs> ranges_m, BeaconNetwork& network);

}  // namespace tributary::nn
