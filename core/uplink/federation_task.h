// What an aggregator asks a node to do in a federated run, as plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/parameters/update_encoding.h"

namespace tributary {

// How to train: ClientSettings of federation.proto, checked.
struct TrainingSettings {
  std::string workload;           // "self_supervised"
  std::string method;             // "simsiam", "byol"
  std::string augmentation;       // "continuous", "hardware"
  std::uint32_t local_steps = 0;  // of a round
  std::uint32_t batch = 0;        // samples of a step
  double learning_rate = 0;       // for a batch of 256
  double momentum = 0;
  double weight_decay = 0;
  double proximal_mu = 0;
  double ema_lambda = 0;
  double target_decay = 0;
  std::uint64_t schedule_steps = 0;  // 0: constant rate
  std::uint64_t seed = 0;
  UpdateEncoding encoding = UpdateEncoding::kFloat32;
  double clip_norm = 0;  // L2 norm to which an update is scaled down; 0: not

  friend bool operator==(const TrainingSettings&, const TrainingSettings&) = default;
};

struct TrainTask {
  std::string run;
  std::uint32_t round = 0;            // from 1
  std::int64_t deadline_unix_ns = 0;  // an update that arrives later is refused
  std::string model_sha256;           // 32 bytes, of the parameters to start from
  std::uint64_t model_bytes = 0;      // of their file
  std::string schema_sha256;          // 32 bytes
  std::uint64_t element_count = 0;    // of the flat vector
  TrainingSettings settings;

  // The same work: the deadline may move.
  bool SameWork(const TrainTask& other) const {
    return run == other.run && round == other.round && model_sha256 == other.model_sha256 &&
           settings == other.settings;
  }
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

using FederationTask = std::variant<WaitTask, TrainTask, EndedTask>;

// What a node says about its training besides the update.
struct TrainingMetrics {
  double loss = 0;    // mean over the steps
  double spread = 0;  // of the last step
  double seconds = 0;
  std::uint64_t steps = 0;
};

}  // namespace tributary
