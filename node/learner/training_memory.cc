#include "node/learner/training_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/runtime/memory_limit.h"

namespace tributary::learner {
namespace {

// Messages of 1 MiB on their way, in both directions, with gRPC's copies.
constexpr std::uint64_t kLinkBytes = 8 << 20;

std::uint64_t VectorBytes(const wire::TrainTask& task) {
  return sizeof(float) * std::uint64_t{task.train.element_count()};
}

// Held through all rounds: the update; error feedback and its next value.
std::uint64_t HeldBytes(const wire::TrainTask& task) { return (task.masking ? 1 : 3) * VectorBytes(task); }

// The file and its tensors, and the flat vector of them.
std::uint64_t DecodingBytes(const wire::TrainTask& task) {
  return 2 * std::uint64_t{task.train.model_bytes()} + VectorBytes(task);
}

// Rounded up: what is needed must not read as what there is.
std::uint64_t MiB(std::uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

std::uint64_t ModelBytes(const wire::TrainTask& task) {
  return kLinkBytes + HeldBytes(task) + DecodingBytes(task);
}

std::uint64_t RoundBytes(const wire::TrainTask& task, const TrainingPlan& plan, bool keeps_state) {
  const std::uint64_t vector = VectorBytes(task);
  // The state as values, as tensors and as a file; words instead of them if masked.
  const std::uint64_t kept = (task.masking ? 0 : 1) + plan.kept_vectors;
  const std::uint64_t copies = std::max<std::uint64_t>(keeps_state ? 3 * kept : 0, task.masking ? 1 : 0);
  const std::uint64_t after_decoding = (1 + copies) * vector;  // with the model
  return kLinkBytes + HeldBytes(task) + std::max(DecodingBytes(task), after_decoding) + plan.bytes;
}

void TrainingMemory::Measure() {
  const std::uint64_t free = runtime::FreeMemory();
  available_ = limit_ > 0 ? limit_ : free - std::min(free, reserved_);
}

absl::Status TrainingMemory::Afford(std::uint64_t bytes, const std::string& what) {
  needed_ = bytes;
  if (bytes <= available_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("{} needs {} MiB, this node has {} MiB for learning: choose a smaller batch or network, or "
                  "give the node more (federation.memory_bytes, MemoryMax of its unit)",
                  what, MiB(bytes), available_ >> 20));
}

}  // namespace tributary::learner
