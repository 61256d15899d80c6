// What an aggregator asks a node to do in a federated run, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/parameters/fixed_point.h"
#include "core/parameters/task_answer.h"
#include "core/privacy/secure_aggregation.h"
#include "google/protobuf/util/message_differencer.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::wire {

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
  std::int64_t left_ns = 0;            // when the task was sent
  std::string model_sha256;            // 32 bytes, of the parameters to start from
  std::uint64_t model_bytes = 0;       // of their file
  std::string schema_sha256;           // 32 bytes
  std::uint64_t element_count = 0;     // of the flat vector
  v1::ClientSettings settings;         // within the limits of core/learning/client_settings.h
  parameters::FixedPoint fixed_point;  // of words; an update with an |element| above its bound is refused
  bool uniform_weight = false;         // words weigh 1 instead of the sample count
  std::uint64_t max_sample_count = 0;  // the count declared at the start of the round: the most that an
                                       // update may state
  std::optional<MaskingTask>
      masking;  // present: updates are sent as masked words, the settings' encoding FIXED32

  // The same work; the deadline may differ.
  bool SameWork(const TrainTask& other) const {
    return run == other.run && round == other.round && model_sha256 == other.model_sha256 &&
           google::protobuf::util::MessageDifferencer::Equals(settings, other.settings) &&
           fixed_point == other.fixed_point && uniform_weight == other.uniform_weight &&
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

struct WaitTask {
  std::string run;     // empty while no run is active
  std::string reason;  // "paused" …
};

struct EndedTask {
  std::string run;
  std::string reason;
  std::uint32_t rounds = 0;
};

using FederationTask =
    std::variant<WaitTask, TrainTask, AdvertiseKeysTask, ShareKeysTask, UnmaskTask, EndedTask>;

}  // namespace tributary::wire
