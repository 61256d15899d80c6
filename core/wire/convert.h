// Conversion of frames and fused slots between the wire and plain structs.
//
// This checks the structure of what arrives: lengths, counts, known enumerators. The fusion engine checks the
// numbers: finite, positive, normalised, plausible epochs. So the hot path checks nothing twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

// Why a frame is refused.
struct WireFault {
  v1::RefusalReason reason = v1::REFUSAL_REASON_UNSPECIFIED;
  std::string message;  // which field, what was found, what is allowed
};

// What the receiver knows of a frame's source before it reads the frame.
struct FrameLimits {
  estimate::TupleShape shape;
  std::size_t leaves = 1;          // of the source: the width of a contributor set in bits
  std::size_t max_subjects = 256;  // in one frame
};

// Overwrites `wire`, reuses its memory.
void FrameToWire(const estimate::TupleFrame& frame, v1::Frame& wire);

// Overwrites `frame`, reuses its memory; its shape becomes the source's. A fault leaves `frame` as it was:
// REFUSAL_REASON_SHAPE or REFUSAL_REASON_TOO_LARGE.
std::optional<WireFault> FrameFromWire(const v1::Frame& wire, const FrameLimits& limits,
                                       estimate::TupleFrame& frame);

// Overwrites `wire`, reuses its memory.
void SlotToWire(const estimate::FusedSlot& slot, v1::FusedSlot& wire);

// Overwrites `wire`. The subject's, of the slot's contributions; false if the slot has none.
bool ContributionsToWire(const estimate::FusedSlot& slot, std::uint32_t subject,
                         v1::SubjectContributions& wire);

// What a site's fused slots consist of: said in the first response of a Watch stream.
struct SiteDescription {
  std::string name;
  std::vector<std::string> leaves;   // in the order of the contributor bits
  std::vector<std::string> classes;  // in the order of the log-probabilities; empty: tuples are Gaussian
  estimate::SlotLength slot;         // what the site's epochs count
};

// Sets the fields that the slot does not.
void DescriptionToWire(const SiteDescription& site, v1::WatchResponse& wire);
void ClearDescription(v1::WatchResponse& wire);
// DataLoss naming the field: a slot as SlotLengthFromWire, one class or more than kMostClasses, what is no
// name or is listed twice.
absl::StatusOr<SiteDescription> DescriptionFromWire(const v1::WatchResponse& wire);

// One fused slot, as a subscriber receives it.
struct WatchedSlot : estimate::FusedSlot {
  std::uint64_t skipped_slots = 0;  // missed since the previous one
};

// The response with all that describes the site: what is printed as JSON. `skipped_slots`: since the previous
// one.
v1::WatchResponse SlotMessage(const SiteDescription& site, const estimate::FusedSlot& slot,
                              std::uint64_t skipped_slots);

// Overwrites `slot`, and keeps its memory. `site`: from the stream's latest description. DataLoss naming the
// field that does not fit.
absl::Status SlotFromWire(const v1::WatchResponse& wire, const SiteDescription& site, WatchedSlot& slot);

}  // namespace tributary::wire
