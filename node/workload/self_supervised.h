// Images in, an update of a model's parameters out: the part of a federated run that happens where the images
// are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/nn/self_supervised_trainer.h"
#include "node/source/images_stream.h"
#include "node/workload/create_augmenter.h"

namespace tributary {

struct LocalTrainingOptions {
  SelfSupervisedOptions trainer;
  AugmentationSet augmentation = AugmentationSet::kContinuous;
  // FedEMA (Zhuang et al., 2022; seed 004): a round starts from μ W_k + (1 − μ) W_g with
  // μ = min(ema_lambda ‖W_g − W_k‖, 1), W_k being this node's parameters after its last round. 0: from W_g.
  double ema_lambda = 0;
};

// Owned and called by one thread; memory is fixed once the first round is over. Equal rounds give equal
// updates bit for bit, in whatever order and however often: only FedEMA's local model is carried over.
class SelfSupervisedWorkload {
 public:
  struct Outcome {
    double loss = 0;    // mean over the steps
    double spread = 0;  // of the last step: near 1 if healthy, 0 if collapsed
  };

  // Keeps a reference to `images`, of which `part` is this node's. Errors: InvalidArgument for an empty part
  // or images of another side than the encoder takes, and as the trainer's.
  static absl::StatusOr<std::unique_ptr<SelfSupervisedWorkload>> Create(const ImageSet& images,
                                                                        std::vector<std::uint32_t> part,
                                                                        const LocalTrainingOptions& options);

  // The model's tensors in the order of the flat vector.
  const std::vector<TensorShape>& Schema() const { return trainer_->Schema(); }
  std::size_t image_count() const { return stream_.count(); }

  // `steps` steps from `global`; writes w_k − w_g into `update`, of the same length. `interrupted` is asked
  // before every step. Errors: Cancelled if it said so; InvalidArgument for a model of another length or with
  // values that are not finite; OutOfRange if the training diverged. `update` is unspecified then.
  absl::StatusOr<Outcome> Train(std::uint64_t round, std::uint64_t steps, std::span<const float> global,
                                const std::function<bool()>& interrupted, std::span<float> update);

  // FedEMA's local model: this node's parameters after the last complete round; empty before it. To be kept
  // over a restart.
  std::span<const float> local() const { return local_; }
  // Errors: InvalidArgument for another length or values that are not finite.
  absl::Status SetLocal(std::span<const float> local);

 private:
  SelfSupervisedWorkload(const LocalTrainingOptions& options, std::unique_ptr<SelfSupervisedTrainer> trainer,
                         const ImageSet& images, std::vector<std::uint32_t> part);
  std::span<const float> Start(std::span<const float> global);

  const double ema_lambda_;
  std::unique_ptr<SelfSupervisedTrainer> trainer_;
  ImageStream stream_;
  std::vector<float> local_;
  std::vector<float> start_;  // FedEMA's mixture
};

}  // namespace tributary
