// Trains the self-supervised encoder on this node's images.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "node/learner/self_supervised.h"
#include "node/learner/trainer.h"

namespace tributary::learner {

// Owns the images. Its state: FedEMA's local model, BYOL's target network, which images are in the buffer and
// how novel they are; never their pixels.
class ImageTrainer : public Trainer {
 public:
  // `node`: its name, which seeds its views. `buffer`: images in the buffer of the most novel ones; 0: every
  // image is kept. `board` computes its part of the training and outlives this; null: there is none.
  ImageTrainer(images::ImageSet images, std::string node, std::size_t buffer, TrainingBoard* board = nullptr);

  std::string_view workload() const override { return "self_supervised"; }
  std::uint64_t sample_count() const override { return images_.count(); }
  std::string_view sample_name() const override { return "image"; }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Prepare() override;
  void Forget() override { workload_.reset(); }
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;
  void EndRound() override { workload_->EndRound(); }

  std::uint64_t buffered() const override { return workload_->buffered().size(); }
  std::uint64_t dropped() const override { return workload_->dropped_images(); }
  parameters::TensorSet State() const override;
  absl::Status Restore(const wire::TrainTask& task, const parameters::TensorSet& state) override;

 private:
  const images::ImageSet images_;
  const std::string node_;
  const std::size_t buffer_;
  TrainingBoard* const board_;
  LocalTrainingOptions planned_;
  std::unique_ptr<SelfSupervisedWorkload> workload_;  // after Prepare
};

}  // namespace tributary::learner
