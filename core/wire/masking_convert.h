// Secure aggregation between the wire and plain structs, on the node's side.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

// A nonce, two shares of 32 bytes and a tag take less.
inline constexpr std::size_t kMaxSealedShareBytes = 256;

// `run` is set and the round was checked. Lists are bounded by kMaxMaskingNodes, rosters valid
// (ValidateRoster), keys 32 bytes. Errors: InvalidArgument naming the field at fault.
absl::Status ShareKeysFromWire(const v1::ShareKeysTask& wire, ShareKeysTask& task);
absl::Status UnmaskFromWire(const v1::UnmaskTask& wire, UnmaskTask& task);
absl::StatusOr<MaskingTask> MaskingFromWire(const v1::MaskingTask& wire);

// The caller sets run, round and node of an answer.
void KeysToWire(const privacy::MaskingKeys& keys, v1::AdvertiseKeysRequest& wire);
void SharesToWire(const std::vector<privacy::SealedShare>& shares, v1::ShareKeysRequest& wire);
void RevealedToWire(const privacy::RevealedShares& shares, v1::UnmaskRequest& wire);

}  // namespace tributary::wire
