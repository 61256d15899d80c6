// The checks of a frame before its numbers reach the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/outcomes.h"
#include "aggregator/fusion/site_config.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// Checks lengths against n and d, the site's limits, and the contributor bits of a source with `leaves`
// leaves. Only then may other code index the frame.
std::optional<Refusal> CheckShape(const estimate::TupleFrame& frame, const SiteConfig& site,
                                  std::size_t leaves);

// Checks the slot of this epoch against the time: it must not have ended more than max_age ago, nor begin
// later than max_lead from now.
std::optional<Refusal> CheckEpoch(estimate::Epoch epoch, std::int64_t unix_ns, const SiteConfig& site);

// `scratch` is reused memory.
std::optional<Refusal> CheckDistinct(std::span<const std::uint32_t> subjects,
                                     std::vector<std::uint32_t>& scratch);

// Refuses tuples with a value that is not finite or with a diagonal that is not positive; `frame` keeps the
// valid ones, in order. Check the shape first.
std::vector<Refusal> RemoveUnsoundTuples(estimate::TupleFrame& frame);

}  // namespace tributary::fusion
