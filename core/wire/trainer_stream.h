// What a node and a program of the user's tell each other in a round of training
// (proto/tributary/v1/trainer.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/parameters/tensor.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/trainer.pb.h"

namespace tributary::wire {

// InvalidArgument naming the first field at fault.
absl::Status CheckDescription(const v1::DescribeTrainerResponse& said);

// `seed`: of this node and round. `tensors`: of the task's model, ascending by name.
v1::TrainerTask TrainerTaskToWire(const TrainTask& task, std::uint64_t seed,
                                  std::span<const parameters::TensorShape> tensors);

// The elements of `values` from `offset` on, at most as many as a chunk may hold.
v1::ParameterChunk ChunkToWire(std::span<const float> values, std::size_t offset);

// Takes a program's answers, one message at a time, and writes the trained parameters. Holds nothing else of
// them, so that a program may send as many messages as it likes.
class TrainedParameters {
 public:
  // As many elements as the model has. `values` outlives this.
  explicit TrainedParameters(std::span<float> values) : values_(values) {}

  // Errors, after which nothing more may be taken: InvalidArgument for a message out of order, a chunk that
  // does not follow or exceeds the model; OutOfRange for a value that is not finite.
  absl::Status Take(const v1::TrainResponse& response);

  bool done() const { return done_; }
  const v1::TrainerDone& result() const { return result_; }  // once done

 private:
  absl::Status TakeChunk(const v1::ParameterChunk& chunk);

  const std::span<float> values_;
  std::size_t taken_ = 0;
  bool done_ = false;
  v1::TrainerDone result_;
};

}  // namespace tributary::wire
