// Combinations that a minority of hostile updates cannot steer.
#pragma once

#include <cstddef>
#include <memory>

#include "aggregator/learning/rules/strategy.h"

namespace tributary::learning {

// Coordinate-wise median; of an even number the mean of the two in the middle.
std::unique_ptr<Strategy> MakeMedian(const StrategyOptions& options, std::size_t element_count);

// Coordinate-wise mean of what is left when ⌊trim · n⌋ values are left out at each end.
std::unique_ptr<Strategy> MakeTrimmedMean(const StrategyOptions& options, std::size_t element_count);

// Mean of the `selected` updates whose n − byzantine − 2 nearest neighbours are nearest (sum of squared
// distances; of equal ones, the first by name). Takes n ≥ 2 · byzantine + 3 updates.
std::unique_ptr<Strategy> MakeMultiKrum(const StrategyOptions& options, std::size_t element_count);

}  // namespace tributary::learning
