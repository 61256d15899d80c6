// What an aggregator asks a node to do in a federated run, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parameters/fixed_point.h"
#include "core/privacy/secure_aggregation.h"
#include "google/protobuf/util/message_differencer.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

// The largest model that a node takes from an aggregator: a file of 1 GiB, 2^28 elements.
inline constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 28;

// With whom a node masks its update.
struct MaskingTask {
  std::size_t threshold = 0;                 // shares that reconstruct a secret: more than half of `nodes`
  privacy::MaskingRoster nodes;              // those that shared their keys
  std::vector<privacy::SealedShare> shares;  // for this node
};

struct TrainTask {
  std::string run;
  std::uint32_t round = 0;  // from 1
  // The aggregator refuses a later update. Steady clock; FederationClient sets it from the time left.
  std::int64_t deadline_ns = 0;
  v1::TrainTask train;  // within its limits, the settings as AdoptFromTask leaves them; without its masking
  parameters::FixedPoint fixed_point;  // of words; an update with an |element| above its bound is refused
  // Present: updates are sent as masked words, the settings' encoding FIXED32.
  std::optional<MaskingTask> masking;

  // The same work; the deadline may differ.
  bool SameWork(const TrainTask& other) const {
    return run == other.run && round == other.round && train.model_sha256() == other.train.model_sha256() &&
           google::protobuf::util::MessageDifferencer::Equals(train.settings(), other.train.settings()) &&
           fixed_point == other.fixed_point && train.uniform_weight() == other.train.uniform_weight() &&
           masking.has_value() == other.masking.has_value();
  }
};

// The steps of secure aggregation before and after the training (core/privacy/secure_aggregation.h).
struct AdvertiseKeysTask {
  std::string run;
  std::uint32_t round = 0;
};

struct ShareKeysTask {
  std::string run;
  std::uint32_t round = 0;
  std::size_t threshold = 0;
  privacy::MaskingRoster nodes;  // all that sent keys
};

struct UnmaskTask {
  std::string run;
  std::uint32_t round = 0;
  std::vector<std::string> survivors;  // whose seeds' shares are to be revealed
  std::vector<std::string> dropped;    // whose keys' shares are
};

using FederationTask = std::variant<TrainTask, AdvertiseKeysTask, ShareKeysTask, UnmaskTask>;

// Reads a task. Lists are bounded by kMaxMaskingNodes, rosters valid (ValidateRoster), keys 32 bytes. Errors:
// InvalidArgument naming the first field at fault; FailedPrecondition for a round's masking, which depends on
// other nodes; Unimplemented for an unknown kind of task, or none.
absl::StatusOr<FederationTask> TaskFromWire(const v1::ParticipateResponse& wire);

// The answers to the steps of secure aggregation. The caller sets run, round and node.
void KeysToWire(const privacy::MaskingKeys& keys, v1::AdvertiseKeysRequest& wire);
void SharesToWire(const std::vector<privacy::SealedShare>& shares, v1::ShareKeysRequest& wire);
void RevealedToWire(const privacy::RevealedShares& shares, v1::UnmaskRequest& wire);

}  // namespace tributary::wire
