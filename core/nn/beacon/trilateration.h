// Position from ranges by Gauss-Newton: the classical baseline of the beacon network.
#pragma once

#include <array>
#include <optional>
#include <span>

namespace tributary::nn {

// x, y (m) of a tag at height_m that minimises the sum of squared range errors to the anchors (m, at least
// two), starting at the anchors' centroid. The height difference counts: slant ranges are compared with slant
// distances. nullopt if the ranges are not finite or the anchors leave the position undetermined.
std::optional<std::array<double, 2>> Trilaterate(std::span<const std::array<double, 3>> anchors_m,
                                                 std::span<const double> ranges_m, double height_m);

}  // namespace tributary::nn
