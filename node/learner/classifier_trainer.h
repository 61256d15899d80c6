// Trains a classifier on this node's labelled images: a shared encoder with a shared head, or with a head
// that never leaves the node, or with a shared head and priors that never leave it.
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

// Owns the images, and holds a part of them out to judge a round's model by. Its state: the head, where it is
// this node's own. Such a head tells as many classes apart as this node has labels for, and is no part of the
// run's model: no message has room for it.
class ClassifierTrainer : public Trainer {
 public:
  // `images`: with a label each. `node`: its name, which seeds its views and what is held out. `held_out`: a
  // part of the images, 0 to 1, rounded down. `board`: as ImageTrainer has it.
  ClassifierTrainer(images::ImageSet images, std::string node, double held_out,
                    TrainingBoard* board = nullptr);

  std::string_view workload() const override { return "classifier"; }
  std::uint64_t sample_count() const override { return trained_on_.size(); }
  std::string_view sample_name() const override { return "image"; }
  absl::Status AwaitReady(const std::stop_token& /*stop*/) override { return absl::OkStatus(); }

  absl::StatusOr<TrainingPlan> Plan(const wire::TrainTask& task, const parameters::TensorSet& model) override;
  absl::Status Prepare() override;
  void Forget() override;
  absl::Status Train(const wire::TrainTask& task, std::span<const float> global,
                     const std::stop_token& withdrawn, std::span<float> update,
                     v1::UpdateMetrics& metrics) override;
  void EndRound() override;

  parameters::TensorSet State() const override;
  absl::Status Restore(const wire::TrainTask& task, const parameters::TensorSet& state) override;

 private:
  // What the last Plan saw.
  struct Planned {
    nn::SupervisedOptions options;  // with this node's priors, if the run adjusts by them
    nn::StrongAugmentationOptions views;
    std::string augmentation;
    bool personal = false;
    std::uint64_t run_seed = 0;
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
  std::vector<float> head_;           // this node's own, as of the last EndRound; else empty
  std::vector<float> parameters_;     // of the shared part and the head
  std::vector<std::uint8_t> labels_;  // of a batch
};

}  // namespace tributary::learner
