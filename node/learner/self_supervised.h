// Images in, an update of a model's parameters out: local training on a node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/images/images_stream.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/parameters/flat_model.h"
#include "core/wire/federation_task.h"
#include "node/learner/training_board.h"

namespace tributary::learner {

struct LocalTrainingOptions {
  nn::SelfSupervisedOptions trainer;
  std::string augmentation = "continuous";   // CreateAugmenter
  nn::StrongAugmentationOptions views = {};  // of "strong"; the side is that of the images
  // FedEMA ([Zhuang22], [SSL]): a round starts from μ W_k + (1 − μ) W_g with
  // μ = min(ema_lambda ‖W_g − W_k‖, 1), W_k being this node's parameters after its last round; running
  // statistics are left out of the norm. 0: from W_g.
  double ema_lambda = 0;
  // Images in a buffer of the most novel ones, which gives half of each batch (images_stream.h); 0: every
  // image is kept.
  std::size_t buffer = 0;
};

// This node's training for a task. `model`: the network in the task's model file.
LocalTrainingOptions LocalTrainingOf(const wire::TrainTask& task, const nn::SelfSupervisedOptions& model,
                                     const std::string& node, std::size_t buffer);

// Owned and called by one thread; memory is fixed after the first round. Equal rounds give equal updates bit
// for bit, in any order and number, except for what EndRound carries over: FedEMA's local model, BYOL's
// target network and the buffer. A round without EndRound leaves no trace.
class SelfSupervisedWorkload {
 public:
  struct Outcome {
    double loss = 0;    // mean over the steps
    double spread = 0;  // of the last step: near 1 if healthy, 0 if collapsed
  };

  // Keeps a reference to `images`, of which `part` is this node's. Errors: InvalidArgument for an empty part,
  // images of another side than the encoder takes, an odd batch with a buffer or a buffer below half a batch;
  // and as the trainer's and the board's. `board` computes its part of the training; null: the processor
  // computes all.
  static absl::StatusOr<std::unique_ptr<SelfSupervisedWorkload>> Create(const images::ImageSet& images,
                                                                        std::vector<std::uint32_t> part,
                                                                        const LocalTrainingOptions& options,
                                                                        TrainingBoard* board = nullptr);

  // Bytes that a workload of valid options holds at most, without the images.
  static std::uint64_t Bytes(std::uint64_t images_in_part, const LocalTrainingOptions& options);

  // The model's tensors in the order of the flat vector.
  const std::vector<parameters::TensorShape>& Schema() const { return trainer_->Schema(); }

  // Makes `steps` steps from `global` and writes w_k − w_g into `update`, of the same length. Running
  // statistics in it do not come from training, which sees augmented views. They are those of the global
  // model on the round's first unchanged images, with the variance about the global mean: their average over
  // the nodes is the statistics of all images together, for a model that stands still. `interrupted` is
  // called before every step. Errors, with `update` unspecified: Cancelled if it returned true;
  // InvalidArgument for a model of another length or with values that are not finite; OutOfRange if the
  // training diverged; those of the board that fails. `failed`: rounds before this one that left the model as
  // it was.
  absl::StatusOr<Outcome> Train(std::uint64_t round, std::uint64_t steps, std::span<const float> global,
                                const std::function<bool()>& interrupted, std::span<float> update,
                                std::uint64_t failed = 0);

  // Accepts the round that was trained last: the next one continues from it.
  void EndRound();

  // What to keep over a restart, as of the last EndRound: this node's parameters (FedEMA only), the target
  // network (BYOL only) and the buffer's images. Empty before it.
  std::span<const float> local() const { return local_; }
  std::span<const float> target() const { return target_; }
  std::span<const images::KeptImage> buffered() const { return buffered_; }
  // Errors: InvalidArgument for another length or values that are not finite.
  absl::Status SetLocal(std::span<const float> local);
  // Errors: those of SelfSupervisedTrainer::SetTarget.
  absl::Status SetTarget(std::span<const float> target);
  // Errors: those of ImageRehearsal::Restore; FailedPrecondition without a buffer.
  absl::Status SetBuffered(std::span<const images::KeptImage> kept);
  std::uint64_t dropped_images() const { return rehearsal_ ? rehearsal_->dropped() : 0; }

 private:
  SelfSupervisedWorkload(const LocalTrainingOptions& options, TrainingBoard* board,
                         std::unique_ptr<nn::SelfSupervisedTrainer> trainer, const images::ImageSet& images,
                         std::vector<std::uint32_t> part);
  std::span<const float> Start(std::span<const float> global);
  nn::SelfSupervisedTrainer::StepResult Step(std::uint64_t step);

  void MeasureStatistics(std::uint64_t first_batch);
  void ReportStatistics(std::span<const float> global, std::span<float> update) const;

  const double ema_lambda_;
  TrainingBoard* const board_;
  std::unique_ptr<nn::SelfSupervisedTrainer> trainer_;
  images::ImageStream stream_;
  std::optional<images::ImageRehearsal> rehearsal_;
  std::vector<float> local_;
  std::vector<float> target_;
  std::vector<images::KeptImage> buffered_;
  std::vector<float> start_;  // FedEMA's mixture
  const std::vector<parameters::StatisticRange> statistics_;
  std::vector<std::uint8_t> sample_;  // what they are measured on
  std::vector<float> measured_;       // parameters with the statistics of the global model
};

}  // namespace tributary::learner
