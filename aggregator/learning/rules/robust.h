// Combinations that a minority of hostile updates cannot steer.
#pragma once

#include <cstddef>
#include <memory>

#include "aggregator/learning/rules/strategy.h"

namespace tributary::learning {

// The strategy of kMedian, kTrimmedMean or kMultiKrum; null for another kind.
std::unique_ptr<Strategy> MakeRobust(const StrategyOptions& options, std::size_t element_count);

}  // namespace tributary::learning
