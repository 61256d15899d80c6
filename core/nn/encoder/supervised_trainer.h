// Learns an encoder and the classifier on top of it, from images with labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/encoder/augmenter.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/gemm.h"
#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {

// The encoder has no batch norm: where each node has a few classes only, the statistics of its batches are
// not those of all nodes, and a mean of such models is none ([Hsieh20]).
struct SupervisedOptions {
  EncoderOptions encoder = {.norm = EncoderNorm::kFilterResponse};
  std::size_t classes = 10;    // a label is less
  std::size_t batch = 32;      // images per step
  double learning_rate = 0.8;  // for a batch of 256; scaled by batch / 256
  double momentum = 0.9;
  double weight_decay = 5e-4;
  std::uint64_t schedule_steps = 0;  // cosine from the learning rate to zero over this many steps; 0:
                                     // constant
  double proximal = 0;               // FedProx: weight of ½ ‖w − w at the last SetParameters‖²
  std::uint64_t seed = 1;            // of the views
  bool head_learns = true;           // false: it stays as it is set, and the encoder learns through it
  // Added to the logits of each class, while training and after it: logit adjustment [Menon21] by the
  // logarithms of how often each class occurs. Empty: nothing; else one for each class, finite.
  std::vector<float> log_priors = {};
};

// InvalidArgument, naming the first option at fault (core/nn/encoder/training_limits.h).
absl::Status Validate(const SupervisedOptions& options);

// The tensors in the order of their names, which is their order in the flat vector: encoder.*, then the head:
// head.bias [classes] and head.weight [classes × features]. `classes` 0: without a head.
std::vector<parameters::TensorShape> ClassifierSchema(const EncoderOptions& encoder, std::size_t classes);

// A fresh model of that schema. A class's row of the head depends on seed and class alone, so that heads of
// different numbers of classes begin alike.
std::vector<float> FreshClassifier(const EncoderOptions& encoder, std::size_t classes, std::uint64_t seed);

// Bytes that a trainer of valid options holds from its construction on, without the augmenter.
std::uint64_t TrainerBytes(const SupervisedOptions& options);

// Owns parameters, optimiser and buffers; a step allocates nothing and uses one thread. One thread at a time.
// Equal runs on one kind of processor are equal bit for bit.
class SupervisedTrainer {
 public:
  // `augmenter` makes the view of each image that a step learns from; null: the image itself. `unit` computes
  // the convolutions of a quantised encoder; null: the processor. Errors: InvalidArgument, naming the option.
  static absl::StatusOr<std::unique_ptr<SupervisedTrainer>> Create(
      const SupervisedOptions& options, std::unique_ptr<Augmenter> augmenter = nullptr,
      std::unique_ptr<StageUnit> unit = nullptr);

  const SupervisedOptions& options() const { return options_; }
  const std::vector<parameters::TensorShape>& Schema() const { return layout_.tensors(); }
  std::span<const float> parameters() const { return parameters_; }
  // The parameters but for the head.
  std::span<const float> body() const { return parameters().first(body_size_); }

  // Starts from these parameters: clears the momentum, sets the proximal anchor. Errors: InvalidArgument for
  // another length or a value that is not finite.
  absl::Status SetParameters(std::span<const float> parameters);

  // The index of the next step, which picks the views and the learning rate. The schedule is `behind` steps
  // behind: those changed nothing.
  void SeekStep(std::uint64_t step, std::uint64_t behind = 0) {
    step_ = step;
    behind_ = behind;
  }

  // One step on [batch × channels × side × side] pixels and their labels [batch], each below `classes`.
  // Returns the mean cross-entropy before it, in nats.
  double Step(std::span<const std::uint8_t> images, std::span<const std::uint8_t> labels);

  // The most probable class of each of n images, unchanged. Any n; allocates only the result.
  std::vector<std::uint8_t> Classify(std::span<const std::uint8_t> images);

 private:
  SupervisedTrainer(const SupervisedOptions& options, std::unique_ptr<Augmenter> augmenter);
  // features_ and logits_ of a batch.
  void Forward(std::span<const std::uint8_t> images);
  void HeadGradient();
  void Descend();

  const SupervisedOptions options_;
  const ParameterLayout layout_;
  const ParameterRange bias_, weight_;
  const std::size_t body_size_;
  const std::unique_ptr<Augmenter> augmenter_;
  Encoder encoder_;
  EncoderPass pass_;
  Gemm gemm_;
  Sgd sgd_;
  std::uint64_t step_ = 0;
  std::uint64_t behind_ = 0;  // steps before this one that the schedule leaves out
  std::vector<float> parameters_, gradient_;
  std::vector<float> anchor_;                       // at the last SetParameters
  std::vector<std::uint8_t> views_;                 // [batch × pixels]
  std::vector<float> features_, feature_gradient_;  // [features × batch]
  std::vector<float> logits_, logit_gradient_;      // [classes × batch]
};

}  // namespace tributary::nn
