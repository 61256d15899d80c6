#include "aggregator/fusion/frame_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/site_config.h"
#include "core/estimate/categorical.h"
#include "core/estimate/tuple_planes.h"

namespace tributary::fusion {
namespace {

std::string Milliseconds(std::int64_t ns) { return absl::StrCat(1e-6 * static_cast<double>(ns), " ms"); }

Refusal WrongLength(const char* field, std::size_t found, std::size_t allowed, std::size_t subjects) {
  return Refusal{RefusalReason::kShape, absl::StrCat(field, " has ", found, " elements, must have ", allowed,
                                                     " for ", subjects, " subjects")};
}

std::optional<Refusal> CheckContributors(const estimate::TupleFrame& frame, std::size_t leaves) {
  if (frame.contributors.empty()) return std::nullopt;
  const std::size_t n = frame.subjects.size();
  const std::size_t words = LeafWords(leaves);
  if (frame.contributors.size() != n * words) {
    return WrongLength("contributors", frame.contributors.size(), n * words, n);
  }
  // Bits of the last word beyond the source's leaves.
  const std::uint64_t excess = leaves % 64 == 0 ? 0 : ~std::uint64_t{0} << (leaves % 64);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < words; ++word) any |= frame.contributors[i * words + word];
    if (any == 0) {
      return Refusal{RefusalReason::kShape, absl::StrCat("contributors of subject ", frame.subjects[i],
                                                         " are empty, must name at least one leaf")};
    }
    if (frame.contributors[(i + 1) * words - 1] & excess) {
      return Refusal{RefusalReason::kShape, absl::StrCat("contributors of subject ", frame.subjects[i],
                                                         " name a leaf beyond the source's ", leaves)};
    }
  }
  return std::nullopt;
}

std::optional<RefusalReason> FaultOfClasses(std::span<const float> log_probabilities) {
  const std::optional<estimate::ProbabilityFault> fault = estimate::FaultOf(log_probabilities);
  if (!fault) return std::nullopt;
  return *fault == estimate::ProbabilityFault::kNotFinite ? RefusalReason::kNotFinite
                                                          : RefusalReason::kNotNormalised;
}

std::optional<RefusalReason> FaultOfTuple(const estimate::TupleFrame& frame, std::size_t row) {
  const estimate::TupleShape shape = frame.shape();
  if (shape.classes > 0)
    return FaultOfClasses({&frame.log_probabilities[row * shape.classes], shape.classes});
  const std::span<const float> mean(&frame.means[row * shape.means()], shape.means());
  const std::span<const float> factor(&frame.cholesky[row * shape.cholesky()], shape.cholesky());
  const auto finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(mean, finite) || !std::ranges::all_of(factor, finite)) {
    return RefusalReason::kNotFinite;
  }
  if (!estimate::ValidTuples(shape.dimension, mean, factor)) return RefusalReason::kNotPositive;
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> CheckShape(const estimate::TupleFrame& frame, const SiteConfig& site,
                                  std::size_t leaves) {
  const std::size_t n = frame.subjects.size();
  const estimate::TupleShape shape = site.shape();
  if (frame.shape() != shape) {
    return Refusal{RefusalReason::kShape,
                   absl::StrCat("dimension is ", frame.dimension, " with ", frame.classes,
                                " classes, must be the site's ", shape.dimension, " with ", shape.classes)};
  }
  if (n > site.max_subjects) {
    return Refusal{RefusalReason::kTooLarge,
                   absl::StrCat("subjects has ", n, " elements, the site admits ", site.max_subjects)};
  }
  if (frame.means.size() != n * shape.means()) {
    return WrongLength("means", frame.means.size(), n * shape.means(), n);
  }
  if (frame.cholesky.size() != n * shape.cholesky()) {
    return WrongLength("cholesky", frame.cholesky.size(), n * shape.cholesky(), n);
  }
  if (frame.log_probabilities.size() != n * shape.classes) {
    return WrongLength("log_probabilities", frame.log_probabilities.size(), n * shape.classes, n);
  }
  return CheckContributors(frame, leaves);
}

std::optional<Refusal> CheckEpoch(estimate::Epoch epoch, std::int64_t unix_ns, const SiteConfig& site) {
  // Times, not epochs, are compared: that takes no division by the slot's length.
  const std::int64_t now_ns = std::max<std::int64_t>(unix_ns, 0);
  if (const std::int64_t age_ns = now_ns - site.slot.EndNs(epoch);
      site.max_age_ns && age_ns >= *site.max_age_ns) {
    return Refusal{RefusalReason::kEpochPast,
                   absl::StrCat("epoch ", epoch, " of ", site.slot.Text(), " ended ", Milliseconds(age_ns),
                                " ago, the site admits ", Milliseconds(*site.max_age_ns))};
  }
  if (const std::int64_t lead_ns = site.slot.StartNs(epoch) - now_ns;
      site.max_lead_ns && lead_ns > *site.max_lead_ns) {
    return Refusal{
        RefusalReason::kEpochFuture,
        absl::StrCat("epoch ", epoch, " of ", site.slot.Text(), " begins in ", Milliseconds(lead_ns),
                     ", the site admits ", Milliseconds(*site.max_lead_ns))};
  }
  return std::nullopt;
}

std::int64_t LeadNs(estimate::Epoch epoch, std::int64_t unix_ns, const SiteConfig& site) {
  if (!site.max_lead_ns) return 0;
  return site.slot.StartNs(epoch) - std::max<std::int64_t>(unix_ns, 0);
}

std::optional<Refusal> CheckDistinct(std::span<const std::uint32_t> subjects,
                                     std::vector<std::uint32_t>& scratch) {
  scratch.assign(subjects.begin(), subjects.end());
  std::sort(scratch.begin(), scratch.end());
  const auto twice = std::adjacent_find(scratch.begin(), scratch.end());
  if (twice == scratch.end()) return std::nullopt;
  return Refusal{RefusalReason::kDuplicateSubject,
                 absl::StrCat("subjects lists ", *twice, " twice, must be distinct")};
}

void KeepRows(std::span<const std::uint32_t> rows, estimate::SlotTuples& tuples) {
  if (tuples.subjects.empty()) return;
  KeepRows(rows, tuples.contributors.size() / tuples.subjects.size(), tuples.contributors);
  KeepRows(rows, 1, tuples.subjects);
  KeepRows(rows, tuples.dimension, tuples.means);
  KeepRows(rows, estimate::TriangleSize(tuples.dimension), tuples.cholesky);
  KeepRows(rows, tuples.classes, tuples.log_probabilities);
}

std::vector<Refusal> RemoveUnsoundTuples(estimate::TupleFrame& frame) {
  std::vector<Refusal> refusals = {
      {RefusalReason::kNotFinite, frame.classes > 0
                                      ? "log_probabilities has a value that is NaN or +infinity"
                                      : "means or cholesky has a value that is NaN or infinite"},
      {RefusalReason::kNotPositive, "cholesky has a diagonal element that is not positive"},
      {RefusalReason::kNotNormalised,
       absl::StrCat("log_probabilities: the probabilities of a subject must sum to 1, within ",
                    estimate::kSumTolerance)}};
  std::vector<std::uint32_t> sound;
  for (std::uint32_t row = 0; row < frame.subjects.size(); ++row) {
    const std::optional<RefusalReason> fault = FaultOfTuple(frame, row);
    const auto refusal = fault ? std::ranges::find(refusals, *fault, &Refusal::reason) : refusals.end();
    if (refusal == refusals.end()) {
      sound.push_back(row);
    } else {
      refusal->subjects.push_back(frame.subjects[row]);
    }
  }
  KeepRows(sound, frame);
  std::erase_if(refusals, [](const Refusal& refusal) { return refusal.subjects.empty(); });
  return refusals;
}

}  // namespace tributary::fusion
