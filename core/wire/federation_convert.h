// Federated learning between the wire and plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

// What a node takes from an aggregator at most: a model's file of 1 GiB, 2^28 elements.
inline constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 28;

// Errors: InvalidArgument naming the first field at fault; FailedPrecondition for a round's masking, which
// other nodes have a part in; Unimplemented for a task that this node does not know.
absl::StatusOr<FederationTask> TaskFromWire(const v1::ParticipateResponse& wire);

// "late", "stale" …: the label of a metric. Unknown numbers (a newer peer) give "unspecified".
std::string SubmitRefusalLabel(v1::SubmitRefusal reason);

}  // namespace tributary::wire
