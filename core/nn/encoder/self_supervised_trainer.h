// Learns an encoder without labels: SimCLR [Chen20], SimSiam [Chen21] or BYOL [Grill20].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/encoder/augmenter.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/kernel/dense_stack.h"
#include "core/nn/optimise/contrastive_loss.h"
#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {

enum class SelfSupervisedMethod { kSimSiam, kByol, kSimClr };

// The defaults learn from a few thousand images of 28 × 28 within a minute (docs/models.md has the figures).
struct SelfSupervisedOptions {
  SelfSupervisedMethod method = SelfSupervisedMethod::kSimSiam;
  EncoderOptions encoder;
  std::size_t projection = 128;  // width of the projector's two layers
  std::size_t bottleneck = 64;   // width of the predictor's hidden layer; 0: no predictor, for SimCLR only
  bool head_norm = true;         // batch norms in projector and predictor
  std::size_t batch = 32;        // images per step
  double learning_rate = 3.2;    // for a batch of 256; scaled by batch / 256
  double momentum = 0.9;
  double weight_decay = 5e-4;
  std::uint64_t schedule_steps = 0;  // cosine from the learning rate to zero over this many steps; 0:
                                     // constant
  double target_decay = 0.996;       // BYOL: tau at step 0, rising to 1 over schedule_steps
  double temperature = 0.2;          // SimCLR: of the softmax over the cosines, above 0
  double proximal = 0;               // FedProx: weight of ½ ‖w − w at the last SetParameters‖²
  std::uint64_t seed = 1;            // of the initial parameters and the augmentation

  bool predicts() const { return method != SelfSupervisedMethod::kSimClr; }
};

// A fresh model for a method: with a predictor only if the method predicts.
SelfSupervisedOptions FreshOptions(SelfSupervisedMethod method);

// InvalidArgument, naming the first option at fault (core/nn/encoder/training_limits.h).
absl::Status Validate(const SelfSupervisedOptions& options);

// The tensors of a model of valid options, in the order of their names. Needs no memory for their values.
std::vector<parameters::TensorShape> SelfSupervisedSchema(const SelfSupervisedOptions& options);

// InvalidArgument, naming the first parameter that is not finite.
absl::Status CheckFinite(std::span<const float> parameters);

// Bytes that a trainer of valid options holds from its construction on: nothing is allocated by its steps.
// For a batch of 2 to 4,096 images and all sides and channels; without the augmenter.
std::uint64_t TrainerBytes(const SelfSupervisedOptions& options);

// Owns parameters, optimiser and buffers; a step allocates nothing and uses one thread. One thread at a time.
//
// The result of a step depends only on parameters, optimiser state, step index, seed, images and the kind of
// processor: equal runs are equal bit for bit.
class SelfSupervisedTrainer {
 public:
  struct StepResult {
    // Before the step. SimSiam, BYOL: −1 … 1. SimCLR: 2 · temperature · the cross entropy, from 0 on.
    double loss;
    double
        spread;  // mean deviation of the unit-length projections × √width: near 1 if healthy, 0 if collapsed
  };

  // `augmenter` makes the views; null: the continuous set. `unit` computes the convolutions of a quantised
  // encoder; null: the processor. Errors: InvalidArgument, naming the option.
  static absl::StatusOr<std::unique_ptr<SelfSupervisedTrainer>> Create(
      const SelfSupervisedOptions& options, std::unique_ptr<Augmenter> augmenter = nullptr,
      std::unique_ptr<StageUnit> unit = nullptr);

  const SelfSupervisedOptions& options() const { return options_; }

  // The model's tensors (ToTensorSet, FlatParameters) in the order of their names, which is their order in
  // the flat vector: encoder.*, predictor.*, projector.*, with the running statistics of the encoder's batch
  // norms. (The heads always norm by the batch: they have none.)
  const std::vector<parameters::TensorShape>& Schema() const { return layout_.tensors(); }
  std::span<const float> parameters() const { return parameters_; }

  // Starts from these parameters: clears the momentum, copies BYOL's target, sets the proximal anchor, keeps
  // the step index. Errors: InvalidArgument for another length or a value that is not finite.
  absl::Status SetParameters(std::span<const float> parameters);

  // BYOL's target network: a moving average of the parameters. Empty for other methods.
  std::span<const float> target() const { return target_; }
  // Goes on with a target that was kept. Call it after SetParameters. Errors: those of SetParameters;
  // FailedPrecondition for a method without a target.
  absl::Status SetTarget(std::span<const float> target);

  // The index of the next step, which picks the views and the learning rate. A node that starts its local
  // steps of round r at r · steps gives the same update after any number of restarts.
  // The schedule is `behind` steps behind: those changed nothing.
  void SeekStep(std::uint64_t step, std::uint64_t behind = 0) {
    step_ = step;
    behind_ = behind;
  }

  // One step on [batch × side × side] pixels.
  StepResult Step(std::span<const std::uint8_t> images);

  // 1 − cosine between the projections of the two views, for each image of the last step; 0 … 2. This is
  // SOFed's score: high where the encoder has not yet learnt what the views share. Zeros before the first
  // step.
  std::span<const float> novelty() const { return novelty_; }

  // Measures the running statistics of the encoder's batch norms on these unchanged images, each batch normed
  // by itself. Nothing else changes. The statistics that steps keep come from augmented views; without any,
  // an untrained encoder norms by mean 0 and variance 1 and is no fair baseline. Leaves out a remainder of
  // less than a batch.
  void CalibrateStatistics(std::span<const std::uint8_t> images);

  // Features [n × feature_count()] of n images, by the running statistics. Any n; allocates only the result.
  std::vector<float> Features(std::span<const std::uint8_t> images);

 private:
  // The activations of one view.
  struct Pass {
    explicit Pass(const SelfSupervisedOptions& options);

    EncoderPass encoder;
    std::vector<float> features;
    DensePass projector;
    DensePass predictor;        // without steps if there is no predictor
    std::vector<float> target;  // of the other view's prediction
  };

  SelfSupervisedTrainer(const SelfSupervisedOptions& options, std::unique_ptr<Augmenter> augmenter);
  void Initialise();
  void Project(std::span<float> parameters, std::span<const std::uint8_t> images, Pass& pass);
  double Contrast();
  double Predict();
  void Backward(Pass& pass, std::span<float> projection_gradient);
  void Descend();

  SelfSupervisedOptions options_;
  ParameterLayout layout_;
  std::unique_ptr<Augmenter> augmenter_;
  Encoder encoder_;
  DenseStack projector_;
  std::optional<DenseStack> predictor_;
  std::optional<ContrastiveLoss> contrast_;
  Sgd sgd_;
  std::uint64_t step_ = 0;
  std::uint64_t behind_ = 0;  // steps before this one that the schedule leaves out
  std::vector<float> parameters_, gradient_;
  std::vector<float> anchor_;   // at the last SetParameters
  std::vector<float> target_;   // BYOL's moving average; empty for SimSiam
  std::array<Pass, 2> passes_;  // one per view
  std::vector<std::uint8_t> views_;
  std::vector<float> prediction_gradient_, feature_gradient_;
  std::array<std::vector<float>, 2> projection_gradient_;  // of each view; of the second for SimCLR only
  std::vector<float> novelty_;                             // [batch], of the last step
  std::vector<double> norms_;                              // [batch], scratch
};

}  // namespace tributary::nn
