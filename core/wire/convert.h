// Conversion between the wire and plain structs. No proto type goes further than this.
//
// This checks the structure of what arrives: lengths, counts, known enumerators. The fusion engine checks the
// numbers: finite, positive, plausible epochs. So the hot path checks nothing twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/estimate/fused_slot.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"
#include "core/wire/report.h"
#include "core/wire/watched_slot.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

// Why a frame is refused.
struct WireFault {
  v1::RefusalReason reason = v1::REFUSAL_REASON_UNSPECIFIED;
  std::string message;  // which field, what was found, what is allowed
};

// What the receiver knows of a frame's source before it reads the frame.
struct FrameLimits {
  std::uint32_t dimension = 2;
  std::size_t leaves = 1;          // of the source: the width of a contributor set in bits
  std::size_t max_subjects = 256;  // in one frame
};

// Overwrites `wire`, reuses its memory.
void FrameToWire(const estimate::TupleFrame& frame, v1::Frame& wire);

// Overwrites `frame`, reuses its memory; `frame.dimension` becomes the source's. A fault leaves `frame` as it
// was: REFUSAL_REASON_SHAPE or REFUSAL_REASON_TOO_LARGE.
std::optional<WireFault> FrameFromWire(const v1::Frame& wire, const FrameLimits& limits,
                                       estimate::TupleFrame& frame);

v1::Hello HelloToWire(const ReportingProcess& process);

// InvalidArgument naming the first field at fault: an empty site, node or source name, a name longer than 128
// bytes or with control characters, a boot id that is not 16 bytes, no source or more than 256, a dimension
// outside 1 to 3, no leaf or more than 256, a name given twice, a digest that is neither empty nor 32 bytes,
// a slot that is neither 0 (the default) nor within the limits of SlotLength.
absl::StatusOr<ReportingProcess> HelloFromWire(const v1::Hello& wire);

// 0 means the default: older peers send no length. InvalidArgument naming the field: outside the limits of
// SlotLength.
absl::StatusOr<estimate::SlotLength> SlotLengthFromWire(std::string_view field, std::uint64_t slot_ns);

// Overwrites `wire`, reuses its memory.
void SlotToWire(const estimate::FusedSlot& slot, v1::FusedSlot& wire);

// The response with all that describes the site: what is printed as JSON. `skipped_slots`: since the previous
// one.
v1::WatchResponse SlotMessage(const std::string& site, const estimate::FusedSlot& slot,
                              estimate::SlotLength length, const std::vector<std::string>& leaves,
                              std::uint64_t skipped_slots);

// Overwrites `slot` but for its length, and keeps its memory. `leaves` is the number of the site's leaves,
// from the stream's latest list. DataLoss naming the field whose length does not fit.
absl::Status SlotFromWire(const v1::WatchResponse& wire, std::size_t leaves, WatchedSlot& slot);

// The label of a metric: "shape", "not_finite" … Unknown numbers (a newer peer) give "unspecified".
std::string_view RefusalReasonLabel(v1::RefusalReason reason);

}  // namespace tributary::wire
