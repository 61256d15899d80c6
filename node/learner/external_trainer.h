// Trains by a program of the user's behind a Unix socket (proto/tributary/v1/trainer.proto).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/trainer_client.h"
#include "core/parameters/tensor.h"
#include "core/runtime/metrics.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

struct ExternalTrainerOptions {
  std::string socket;
  std::int64_t silence_ns = 60'000'000'000;
};

// The program is not trusted with more than the model: what it answers is checked for size, order and values,
// and counted where it fails. It may end, hang and come back at any time; that costs the round under way.
class ExternalTrainer : public Trainer {
 public:
  // `node`: its name, which seeds its rounds. `metrics` outlives the trainer.
  ExternalTrainer(const ExternalTrainerOptions& options, std::string node, runtime::Metrics& metrics);

  std::string_view workload() const override { return "external"; }
  std::uint64_t sample_count() const override { return sample_count_; }
  std::string_view sample_name() const override { return "sample"; }
  absl::Status AwaitReady(const std::stop_token& stop) override;

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  void Forget() override { trained_ = std::vector<float>(); }
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;

 private:
  // Asks the program who it is.
  absl::Status Describe(const std::stop_token& stop);
  absl::Status Count(absl::Status failure);

  const ExternalTrainerOptions options_;
  const std::string node_;
  const std::map<absl::StatusCode, runtime::Counter*> failures_;
  link::TrainerClient client_;
  std::string name_;
  std::uint64_t sample_count_ = 0;
  std::vector<parameters::TensorShape> tensors_;  // of the planned model
  std::vector<float> trained_;
};

}  // namespace tributary::learner
