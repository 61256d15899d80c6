// What the server does with the combined delta of a round: plain step, momentum, adaptive.
#pragma once

#include <cstddef>
#include <memory>

#include "aggregator/learning/rules/strategy.h"

namespace tributary::learning {

// model += learning_rate · delta.
std::unique_ptr<Strategy> MakePlainStep(const StrategyOptions& options, std::size_t element_count);

// m ← momentum · m + delta, model += learning_rate · m. State: "momentum".
std::unique_ptr<Strategy> MakeMomentumStep(const StrategyOptions& options, std::size_t element_count);

// FedAdam and FedYogi ([Reddi21], algorithm 2): m ← β1 m + (1 − β1) delta,
//   Adam v ← β2 v + (1 − β2) delta²,  Yogi v ← v − (1 − β2) delta² sign(v − delta²),
// model += learning_rate · m / (√v + τ). State: "momentum", "second_moment" (τ² at first).
std::unique_ptr<Strategy> MakeAdaptiveStep(const StrategyOptions& options, std::size_t element_count);

}  // namespace tributary::learning
