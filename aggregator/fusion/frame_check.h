// The checks of a frame before its numbers reach the arithmetic.
#pragma once

#include <algorithm>
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

// How long after this time the slot begins; negative if it has begun. 0 without max_lead: then epochs need
// not be near the present.
std::int64_t LeadNs(estimate::Epoch epoch, std::int64_t unix_ns, const SiteConfig& site);

// `scratch` is reused memory.
std::optional<Refusal> CheckDistinct(std::span<const std::uint32_t> subjects,
                                     std::vector<std::uint32_t>& scratch);

// Refuses tuples with a value that is not finite, with a diagonal that is not positive or with probabilities
// that do not sum to 1; `frame` keeps the valid ones, in order. Check the shape first.
std::vector<Refusal> RemoveUnsoundTuples(estimate::TupleFrame& frame);

// Keeps these rows of `width` values; `rows` ascends.
template <typename T>
void KeepRows(std::span<const std::uint32_t> rows, std::size_t width, std::vector<T>& values) {
  auto end = values.begin();
  for (const std::uint32_t row : rows) {
    end = std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * width), width, end);
  }
  values.erase(end, values.end());
}
void KeepRows(std::span<const std::uint32_t> rows, estimate::SlotTuples& tuples);

}  // namespace tributary::fusion
