#include "core/wire/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "core/estimate/categorical.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"
#include "core/wire/hello.h"

namespace tributary::wire {
namespace {

std::size_t ContributorWords(std::size_t leaves) { return (leaves + 63) / 64; }

template <typename Values, typename Field>
void CopyToWire(const Values& values, Field* field) {
  field->Clear();
  field->Add(values.begin(), values.end());
}

template <typename Field, typename Values>
void CopyFromWire(const Field& field, Values& values) {
  values.assign(field.begin(), field.end());
}

v1::ContributionFate FateToWire(estimate::TupleFate fate) {
  switch (fate) {
    case estimate::TupleFate::kFused:
      return v1::CONTRIBUTION_FATE_FUSED;
    case estimate::TupleFate::kRedundant:
      return v1::CONTRIBUTION_FATE_REDUNDANT;
    case estimate::TupleFate::kGated:
      return v1::CONTRIBUTION_FATE_GATED;
  }
  return v1::CONTRIBUTION_FATE_UNSPECIFIED;
}

// What a frame and a fused slot share.
template <typename Message>
void TuplesToWire(const estimate::SlotTuples& tuples, Message& wire) {
  wire.set_epoch(tuples.epoch);
  wire.set_captured_unix_ns(tuples.captured_unix_ns);
  wire.set_revision(tuples.revision);
  CopyToWire(tuples.subjects, wire.mutable_subjects());
  CopyToWire(tuples.means, wire.mutable_means());
  CopyToWire(tuples.cholesky, wire.mutable_cholesky());
  CopyToWire(tuples.log_probabilities, wire.mutable_log_probabilities());
  CopyToWire(tuples.contributors, wire.mutable_contributors());
}

template <typename Message>
void TuplesFromWire(const Message& wire, estimate::SlotTuples& tuples) {
  tuples.epoch = wire.epoch();
  tuples.captured_unix_ns = wire.captured_unix_ns();
  tuples.revision = wire.revision();
  CopyFromWire(wire.subjects(), tuples.subjects);
  CopyFromWire(wire.means(), tuples.means);
  CopyFromWire(wire.cholesky(), tuples.cholesky);
  CopyFromWire(wire.log_probabilities(), tuples.log_probabilities);
  CopyFromWire(wire.contributors(), tuples.contributors);
}

// The values of a field, and how many of them belong to one subject.
struct Length {
  std::string_view field;
  int found;
  std::size_t each;
};

std::optional<std::string> LengthFault(int subjects, std::initializer_list<Length> lengths) {
  for (const Length& length : lengths) {
    const std::size_t expected = static_cast<std::size_t>(subjects) * length.each;
    if (static_cast<std::size_t>(length.found) == expected) continue;
    return fmt::format("{}: {} values, expected {} ({} subjects of {} each)", length.field, length.found,
                       expected, subjects, length.each);
  }
  return std::nullopt;
}

// Bits of leaves beyond those of the source.
std::optional<std::string> ContributorFault(const v1::Frame& wire, std::size_t leaves) {
  const std::size_t words = ContributorWords(leaves);
  if (leaves % 64 == 0) return std::nullopt;
  const std::uint64_t beyond = ~std::uint64_t{0} << (leaves % 64);
  for (std::size_t last = words - 1; last < static_cast<std::size_t>(wire.contributors_size());
       last += words) {
    if ((wire.contributors(static_cast<int>(last)) & beyond) != 0) {
      return fmt::format(
          "contributors: subject at index {} names a leaf beyond the {} that the source declared",
          last / words, leaves);
    }
  }
  return std::nullopt;
}

// They go into tables and onto terminals. The site's own is empty from an older release.
absl::Status CheckSiteNames(const v1::WatchResponse& wire) {
  if (!wire.site().empty()) RETURN_IF_ERROR(CheckName("site", wire.site()));
  RETURN_IF_ERROR(CheckNames("leaves", wire.leaves()));
  return CheckNames("classes", wire.classes());
}

}  // namespace

void FrameToWire(const estimate::TupleFrame& frame, v1::Frame& wire) {
  wire.set_sequence(frame.sequence);
  wire.set_source(frame.source);
  TuplesToWire(frame, wire);
}

std::optional<WireFault> FrameFromWire(const v1::Frame& wire, const FrameLimits& limits,
                                       estimate::TupleFrame& frame) {
  const int n = wire.subjects_size();
  if (static_cast<std::size_t>(n) > limits.max_subjects) {
    return WireFault{v1::REFUSAL_REASON_TOO_LARGE,
                     fmt::format("subjects: {} in one frame, allowed are {}", n, limits.max_subjects)};
  }
  const bool names_contributors = wire.contributors_size() > 0;
  std::optional<std::string> fault = LengthFault(
      n,
      {{"means", wire.means_size(), limits.shape.means()},
       {"cholesky", wire.cholesky_size(), limits.shape.cholesky()},
       {"log_probabilities", wire.log_probabilities_size(), limits.shape.classes},
       {"contributors", wire.contributors_size(), names_contributors ? ContributorWords(limits.leaves) : 0}});
  if (!fault && names_contributors) fault = ContributorFault(wire, limits.leaves);
  if (fault) return WireFault{v1::REFUSAL_REASON_SHAPE, *std::move(fault)};

  frame.sequence = wire.sequence();
  frame.source = wire.source();
  frame.set_shape(limits.shape);
  TuplesFromWire(wire, frame);
  return std::nullopt;
}

void SlotToWire(const estimate::FusedSlot& slot, v1::FusedSlot& wire) {
  wire.set_fused_unix_ns(slot.fused_unix_ns);
  wire.set_dimension(slot.dimension);
  TuplesToWire(slot, wire);
  CopyToWire(slot.consistency, wire.mutable_consistency());
  CopyToWire(slot.velocities, wire.mutable_velocities());
}

bool ContributionsToWire(const estimate::FusedSlot& slot, std::uint32_t subject,
                         v1::SubjectContributions& wire) {
  wire.Clear();
  if (slot.contributions == nullptr) return false;
  const auto said = std::ranges::find(*slot.contributions, subject, &estimate::SubjectTuples::subject);
  if (said == slot.contributions->end()) return false;
  wire.set_subject(subject);
  wire.set_gate(said->gate.value_or(0));
  for (const estimate::SourceTuple& tuple : said->tuples) {
    v1::Contribution& contribution = *wire.add_contributions();
    contribution.set_source(tuple.source);
    contribution.set_captured_unix_ns(tuple.captured_unix_ns);
    contribution.set_fate(FateToWire(tuple.fate));
    contribution.set_innovation(tuple.innovation.value_or(0));
    CopyToWire(tuple.mean, contribution.mutable_mean());
    CopyToWire(tuple.cholesky, contribution.mutable_cholesky());
    CopyToWire(tuple.log_probabilities, contribution.mutable_log_probabilities());
  }
  return true;
}

void DescriptionToWire(const SiteDescription& site, v1::WatchResponse& wire) {
  wire.set_site(site.name);
  wire.mutable_leaves()->Assign(site.leaves.begin(), site.leaves.end());
  wire.mutable_classes()->Assign(site.classes.begin(), site.classes.end());
  wire.set_slot_ns(static_cast<std::uint64_t>(site.slot.ns()));
}

void ClearDescription(v1::WatchResponse& wire) {
  wire.clear_site();
  wire.clear_leaves();
  wire.clear_classes();
  wire.clear_slot_ns();
}

absl::StatusOr<SiteDescription> DescriptionFromWire(const v1::WatchResponse& wire) {
  const absl::Status names = CheckSiteNames(wire);
  if (!names.ok()) return absl::DataLossError(names.message());
  const absl::StatusOr<estimate::SlotLength> slot = SlotLengthFromWire("slot_ns", wire.slot_ns());
  if (!slot.ok()) return absl::DataLossError(slot.status().message());
  const auto classes = static_cast<std::size_t>(wire.classes_size());
  if (classes != 0 && (classes < estimate::kLeastClasses || classes > estimate::kMostClasses)) {
    return absl::DataLossError(fmt::format("classes: {} given, expected none or {} to {}", classes,
                                           estimate::kLeastClasses, estimate::kMostClasses));
  }
  return SiteDescription{.name = wire.site(),
                         .leaves = {wire.leaves().begin(), wire.leaves().end()},
                         .classes = {wire.classes().begin(), wire.classes().end()},
                         .slot = *slot};
}

v1::WatchResponse SlotMessage(const SiteDescription& site, const estimate::FusedSlot& slot,
                              std::uint64_t skipped_slots) {
  v1::WatchResponse response;
  SlotToWire(slot, *response.mutable_slot());
  response.set_skipped_slots(skipped_slots);
  DescriptionToWire(site, response);
  return response;
}

absl::Status SlotFromWire(const v1::WatchResponse& wire, const SiteDescription& site, WatchedSlot& slot) {
  const v1::FusedSlot& fused = wire.slot();
  const estimate::TupleShape shape = {fused.dimension(), static_cast<std::uint32_t>(site.classes.size())};
  const bool known = shape.classes > 0 ? shape.dimension == 0 : shape.dimension >= 1 && shape.dimension <= 3;
  if (!known) {
    return absl::DataLossError(fmt::format("fused slot: dimension: {}, expected {}", shape.dimension,
                                           shape.classes > 0 ? "0, as the site has classes" : "1, 2 or 3"));
  }
  const std::size_t words = ContributorWords(site.leaves.size());
  const std::optional<std::string> fault =
      LengthFault(fused.subjects_size(),
                  {{"means", fused.means_size(), shape.means()},
                   {"cholesky", fused.cholesky_size(), shape.cholesky()},
                   {"log_probabilities", fused.log_probabilities_size(), shape.classes},
                   {"contributors", fused.contributors_size(), words},
                   {"consistency", fused.consistency_size(), 1},
                   {"velocities", fused.velocities_size(), fused.velocities_size() > 0 ? shape.means() : 0}});
  if (fault) return absl::DataLossError(fmt::format("fused slot: {}", *fault));

  slot.fused_unix_ns = fused.fused_unix_ns();
  slot.set_shape(shape);
  slot.contributor_words = static_cast<std::uint32_t>(words);
  slot.skipped_slots = wire.skipped_slots();
  TuplesFromWire(fused, slot);
  CopyFromWire(fused.consistency(), slot.consistency);
  CopyFromWire(fused.velocities(), slot.velocities);
  return absl::OkStatus();
}

}  // namespace tributary::wire
