// What a round of training takes of this node's memory, and what the node has for it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/wire/federation_task.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

// Bytes to receive the task's model, before its network is known: the file, its tensors and the flat vector,
// beside the update and error feedback.
std::uint64_t ModelBytes(const wire::TrainTask& task);

// Peak bytes of a round: what the trainer holds, and the vectors of the model's length. Without the samples
// themselves. `keeps_state`: a copy goes to the learner's file.
std::uint64_t RoundBytes(const wire::TrainTask& task, const TrainingPlan& plan, bool keeps_state);

// The learner's thread owns it.
class TrainingMemory {
 public:
  // `limit`: federation.memory_bytes; 0: what this process may still take, without `reserved`: what panels
  // and the connection may still take.
  TrainingMemory(std::uint64_t limit, std::uint64_t reserved) : limit_(limit), reserved_(reserved) {}

  // Call it while nothing is held for training, before the first task of a run.
  void Measure();

  // Errors: ResourceExhausted if `bytes` are too many. `what` names the task for whoever started the run.
  absl::Status Afford(std::uint64_t bytes, const std::string& what);

  std::uint64_t available() const { return available_; }
  std::uint64_t needed() const { return needed_; }  // of the last Afford

 private:
  const std::uint64_t limit_;
  const std::uint64_t reserved_;
  std::uint64_t available_ = 0;
  std::uint64_t needed_ = 0;
};

}  // namespace tributary::learner
