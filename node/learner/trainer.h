// What trains in a node's rounds: the plug between federated runs and one kind of model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learner {

// What a run's rounds take, known before anything is allocated for them.
struct TrainingPlan {
  std::uint64_t bytes = 0;       // that the trainer holds at most
  std::size_t kept_vectors = 0;  // in State(), each as long as the model
  std::string what;              // "a batch of 32 images of 28 × 28 pixels through 16, 32 channels"
};

// Owned and called by the learner's thread. The learner keeps what belongs to every model: tasks, error
// feedback, encodings, masking, the update's norm, durability. A trainer only trains. A round without
// EndRound leaves no trace.
class Trainer {
 public:
  virtual ~Trainer() = default;

  // As ParticipateRequest.workloads and the run's client.workload name it.
  virtual std::string_view workload() const = 0;
  // What it trains on: the weight of its updates. 0: not known yet.
  virtual std::uint64_t sample_count() const = 0;
  virtual std::string_view sample_name() const = 0;  // one of them: "image"

  // Waits until sample_count is known. Cancelled if `stop` was requested first.
  virtual absl::Status AwaitReady(const std::stop_token& /*stop*/) { return absl::OkStatus(); }

  // What tasks like this one take, and whether they can be done. `model`: the tensors of the task's file.
  // Errors: InvalidArgument: this trainer cannot train such a model; FailedPrecondition: it cannot do such a
  // task; others: it cannot do it now.
  virtual absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task,
                                            const parameters::TensorSet& model) = 0;

  // Gets ready for tasks as the last Plan saw them. Errors: ResourceExhausted: a board has no memory for
  // them; others: the samples do not fit the model.
  virtual absl::Status Prepare() { return absl::OkStatus(); }
  // Frees all that Prepare made.
  virtual void Forget() {}

  // Trains the task's steps from `global` and writes trained − global into `update`, of the same length.
  // `metrics` gets the loss and what else the trainer measures. Errors, with `update` unspecified: Cancelled
  // if `withdrawn` was requested, which it looks at after every step; InvalidArgument for a model with values
  // that are not finite; OutOfRange if the training diverged; others: it cannot do it now.
  virtual absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                             const std::stop_token& withdrawn, std::span<float> update,
                             v1::UpdateMetrics& metrics) = 0;

  // The aggregator took the update: the next round continues from it.
  virtual void EndRound() {}

  // Samples in a bounded buffer of the most novel ones, and those that were not novel enough.
  virtual std::uint64_t buffered() const { return 0; }
  virtual std::uint64_t dropped() const { return 0; }

  // What a restart must not lose, as of the last EndRound. "residual" is the learner's own name.
  virtual parameters::TensorSet State() const { return {}; }
  // After Prepare. Errors: not the state of such a run.
  virtual absl::Status Restore(const wire::TrainTask& /*task*/, const parameters::TensorSet& /*state*/) {
    return absl::OkStatus();
  }
};

}  // namespace tributary::learner
