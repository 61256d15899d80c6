// Federated learning between the wire and plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

// The largest model that a node takes from an aggregator: a file of 1 GiB, 2^28 elements.
inline constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 28;

// Errors: InvalidArgument naming the first field at fault; FailedPrecondition for a round's masking, which
// depends on other nodes; Unimplemented for an unknown kind of task.
absl::StatusOr<FederationTask> TaskFromWire(const v1::ParticipateResponse& wire);

// The label of a metric: "late", "stale" … Unknown numbers (a newer peer) give "unspecified".
std::string SubmitRefusalLabel(v1::SubmitRefusal reason);

}  // namespace tributary::wire
