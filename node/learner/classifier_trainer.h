// Trains a classifier on this node's labelled images: a shared encoder with a shared head, or with a head
// that no node trains or sends, and priors that never leave the node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/images/images_stream.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "node/learner/trainer.h"
#include "node/learner/training_board.h"

namespace tributary::learner {

// Owns the images, and holds a part of them out to judge a round's model by. A personal head is no part of
// the run's model: no message has room for it. Its rows, one for each class up to this node's largest label,
// are drawn from a seed in the model's file, so that all nodes' encoders learn through the same ones.
class ClassifierTrainer : public Trainer {
 public:
  // `images`: with a label each. `node`: its name, which seeds its views and what is held out. `held_out`: a
  // part of the images, 0 to 1, rounded down. `board`: as ImageTrainer has it.
  ClassifierTrainer(images::ImageSet images, std::string node, double held_out,
                    TrainingBoard* board = nullptr);

  std::string_view workload() const override { return "classifier"; }
  std::uint64_t sample_count() const override { return trained_on_.size(); }
  std::string_view sample_name() const override { return "image"; }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Prepare() override;
  void Forget() override;
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;
  void EndRound() override {}

 private:
  // What the last Plan saw.
  struct Planned {
    nn::SupervisedOptions options;  // with this node's priors, if the run adjusts by them
    nn::StrongAugmentationOptions views;
    std::string augmentation;
    bool personal = false;
    std::uint64_t head_seed = 0;
  };

  std::size_t LargestLabel() const;
  std::vector<float> LogPriors(std::size_t classes) const;
  absl::StatusOr<double> HeldOutAccuracy(const std::stop_token& withdrawn);

  images::ImageSet images_;
  const std::string node_;
  TrainingBoard* const board_;
  std::vector<std::uint32_t> trained_on_, held_out_;
  Planned planned_;
  // After Prepare.
  std::unique_ptr<nn::SupervisedTrainer> trainer_;
  std::optional<images::ImageStream> stream_;
  std::vector<float> head_;           // where it is personal; else empty
  std::vector<float> parameters_;     // of the shared part and the head
  std::vector<std::uint8_t> labels_;  // of a batch
};

}  // namespace tributary::learner
