#include "core/wire/convert.h"

#include <fmt/format.h>

#include <initializer_list>

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

// What a frame and a fused slot share.
template <typename Message>
void TuplesToWire(const estimate::SlotTuples& tuples, Message& wire) {
  wire.set_epoch(tuples.epoch);
  wire.set_captured_unix_ns(tuples.captured_unix_ns);
  wire.set_revision(tuples.revision);
  CopyToWire(tuples.subjects, wire.mutable_subjects());
  CopyToWire(tuples.means, wire.mutable_means());
  CopyToWire(tuples.cholesky, wire.mutable_cholesky());
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
      {{"means", wire.means_size(), limits.dimension},
       {"cholesky", wire.cholesky_size(), estimate::TriangleSize(limits.dimension)},
       {"contributors", wire.contributors_size(), names_contributors ? ContributorWords(limits.leaves) : 0}});
  if (!fault && names_contributors) fault = ContributorFault(wire, limits.leaves);
  if (fault) return WireFault{v1::REFUSAL_REASON_SHAPE, *std::move(fault)};

  frame.sequence = wire.sequence();
  frame.source = wire.source();
  frame.dimension = limits.dimension;
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

v1::WatchResponse SlotMessage(const std::string& site, const estimate::FusedSlot& slot,
                              estimate::SlotLength length, const std::vector<std::string>& leaves,
                              std::uint64_t skipped_slots) {
  v1::WatchResponse response;
  SlotToWire(slot, *response.mutable_slot());
  response.set_skipped_slots(skipped_slots);
  response.mutable_leaves()->Assign(leaves.begin(), leaves.end());
  response.set_slot_ns(static_cast<std::uint64_t>(length.ns()));
  response.set_site(site);
  return response;
}

absl::Status SlotFromWire(const v1::WatchResponse& wire, std::size_t leaves, WatchedSlot& slot) {
  const v1::FusedSlot& fused = wire.slot();
  const std::size_t d = fused.dimension();
  if (d < 1 || d > 3) {
    return absl::DataLossError(fmt::format("fused slot: dimension: {}, expected 1, 2 or 3", d));
  }
  const std::size_t words = ContributorWords(leaves);
  const std::optional<std::string> fault = LengthFault(
      fused.subjects_size(), {{"means", fused.means_size(), d},
                              {"cholesky", fused.cholesky_size(), estimate::TriangleSize(d)},
                              {"contributors", fused.contributors_size(), words},
                              {"consistency", fused.consistency_size(), 1},
                              {"velocities", fused.velocities_size(), fused.velocities_size() > 0 ? d : 0}});
  if (fault) return absl::DataLossError(fmt::format("fused slot: {}", *fault));

  slot.fused_unix_ns = fused.fused_unix_ns();
  slot.dimension = fused.dimension();
  slot.contributor_words = static_cast<std::uint32_t>(words);
  slot.skipped_slots = wire.skipped_slots();
  TuplesFromWire(fused, slot);
  CopyFromWire(fused.consistency(), slot.consistency);
  CopyFromWire(fused.velocities(), slot.velocities);
  return absl::OkStatus();
}

}  // namespace tributary::wire
