// The hello of a Report stream: how a process declares itself when it starts to report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

// 16 bytes, new at each start of a process: the aggregator tells a restart from a reconnect by it.
std::string NewBootId();

// A source of Gaussian tuples. Frames name it by its index. `leaves`: those that its tuples can contain; a
// leaf lists itself.
void AddSource(v1::Hello& hello, const std::string& name, std::uint32_t dimension,
               const std::vector<std::string>& leaves);
// A source of categorical tuples. `prior`: the one that they contain; empty: uniform.
void AddClassifier(v1::Hello& hello, const std::string& name, const std::vector<std::string>& leaves,
                   const std::vector<std::string>& classes, const std::vector<double>& prior);

// Returns what the process' epochs count. InvalidArgument naming the first field at fault: an empty site,
// node or source name, a name longer than 128 bytes or with control characters, a boot id that is not 16
// bytes, no source or more than 256, a dimension outside 1 to 3 without classes or not 0 with them, one class
// or more than 256, no leaf or more than 256, a name given twice, a digest that is neither empty nor 32
// bytes, a slot as SlotLengthFromWire. The site judges the priors (SourceTable).
absl::StatusOr<estimate::SlotLength> CheckHello(const v1::Hello& hello);

// 0 means the default: older peers send no length. InvalidArgument naming the field: outside the limits of
// SlotLength.
absl::StatusOr<estimate::SlotLength> SlotLengthFromWire(std::string_view field, std::uint64_t slot_ns);

// Whether the aggregator that answered the hello collates by this node's slots. An older one does not know
// the field: it takes any hello. InvalidArgument: no length; FailedPrecondition: another one.
absl::Status CheckSlotOfAnswer(const v1::ReportResponse& answer, estimate::SlotLength own);

}  // namespace tributary::wire
