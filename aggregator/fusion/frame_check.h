// What must hold before a frame's numbers reach the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/refusal.h"
#include "aggregator/fusion/site_config.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// Lengths against n and d, the site's limits, and the contributor bits of a source with `leaves` leaves.
// Everything else may index the frame only after this.
std::optional<Refusal> CheckShape(const estimate::TupleFrame& frame, const SiteConfig& site,
                                  std::size_t leaves);

// The slot of this epoch against the time: it must not have ended max_age ago, nor begin beyond max_lead.
std::optional<Refusal> CheckEpoch(estimate::Epoch epoch, std::int64_t unix_ns, const SiteConfig& site);

// `scratch` keeps its memory.
std::optional<Refusal> CheckDistinct(std::span<const std::uint32_t> subjects,
                                     std::vector<std::uint32_t>& scratch);

// Refusals for the tuples with a value that is not finite, and for those whose diagonal is not positive;
// `frame` keeps the sound ones, in order. The shape must have been checked.
std::vector<Refusal> RemoveUnsoundTuples(estimate::TupleFrame& frame);

}  // namespace tributary::fusion
