#include "node/learner/classifier_trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/learning/client_settings.h"
#include "core/nn/encoder/class_priors.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/random_stream.h"
#include "core/status/macros.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {
ClassifierTrainer::ClassifierTrainer(images::ImageSet images, std::string node, double held_out,
                                     TrainingBoard* board)
    : images_(std::move(images)), node_(std::move(node)), board_(board) {
  std::vector<std::uint32_t> order(images_.count());
  std::iota(order.begin(), order.end(), 0U);
  nn::RandomStream(NodeSeed(0, node_)).Shuffle(order);
  const auto judged = static_cast<std::ptrdiff_t>(held_out * static_cast<double>(order.size()));
  held_out_.assign(order.begin(), order.begin() + judged);
  trained_on_.assign(order.begin() + judged, order.end());
}

std::size_t ClassifierTrainer::LargestLabel() const { return std::ranges::max(images_.labels); }

std::vector<float> ClassifierTrainer::LogPriors(std::size_t classes) const {
  std::vector<std::uint8_t> labels;
  for (const std::uint32_t i : trained_on_) labels.push_back(images_.labels[i]);
  return nn::LogPriors(labels, classes);
}

absl::StatusOr<TrainingPlan> ClassifierTrainer::Plan(const wire::TrainTask& task,
                                                     const parameters::TensorSet& model) {
  ASSIGN_OR_RETURN(const nn::ClassifierFile file, nn::ClassifierFromTensors(model));
  const v1::ClientSettings& settings = task.train.settings();
  const bool personal = learning::HasPersonalHeads(settings);
  if (personal != (file.classes == 0)) {
    return absl::InvalidArgumentError(personal
                                          ? "the run says that heads are personal, and its model has one"
                                          : "the run says that the head is shared, and its model has none");
  }
  if (trained_on_.empty() || images_.labels.size() != images_.count()) {
    return absl::FailedPreconditionError("this node has no labelled image to learn from");
  }
  const std::size_t classes = personal ? std::max<std::size_t>(LargestLabel() + 1, 2) : file.classes;
  if (LargestLabel() >= classes) {
    return absl::FailedPreconditionError(
        fmt::format("this node has images of class {}, the run's head tells {} classes from 0 on",
                    LargestLabel(), classes));
  }
  if (images_.shape() != file.encoder.image()) {
    return absl::FailedPreconditionError(fmt::format("images of {}, the run's encoder takes {}",
                                                     images_.shape().Text(), file.encoder.image().Text()));
  }
  planned_ = {.options = {.encoder = file.encoder,
                          .classes = classes,
                          .batch = settings.batch(),
                          .learning_rate = settings.learning_rate(),
                          .momentum = settings.momentum(),
                          .weight_decay = settings.weight_decay(),
                          .schedule_steps = settings.schedule_steps(),
                          .proximal = settings.proximal_mu(),
                          .seed = NodeSeed(settings.seed(), node_),
                          .head_learns = !personal},
              .views = learning::StrongViewsOf(settings, file.encoder.image()),
              .augmentation = settings.augmentation(),
              .personal = personal,
              .head_seed = file.head_seed.value_or(settings.seed())};
  if (learning::HasPersonalPriors(settings)) planned_.options.log_priors = LogPriors(classes);
  const std::uint64_t batch = planned_.options.batch, pixels = images_.image_size();
  const std::uint64_t head = classes * (file.encoder.feature_count() + 1);
  if (board_ != nullptr) RETURN_IF_ERROR(board_->Check(file.encoder, planned_.augmentation));
  return TrainingPlan{
      .bytes = nn::TrainerBytes(planned_.options) +
               (board_ == nullptr ? 0 : board_->Bytes(file.encoder, batch)) +
               batch * (sizeof(std::uint32_t) + pixels + 1) +        // the stream's batch, its labels
               2 * sizeof(std::uint32_t) * trained_on_.size() +      // its part and order
               (pixels + 1) * held_out_.size() +                     // as they are judged
               sizeof(float) * (file.parameters.size() + 2 * head),  // parameters_, head_
      .kept_vectors = 0,
      .what = fmt::format("a batch of {} images of {} through {} channels to {} classes", batch,
                          images_.shape().Text(), fmt::join(file.encoder.channels, ", "), classes)};
}

absl::Status ClassifierTrainer::Prepare() {
  ASSIGN_OR_RETURN(EncoderParts parts, CreateParts(planned_.options.encoder, planned_.options.batch,
                                                   planned_.augmentation, planned_.views, board_));
  ASSIGN_OR_RETURN(trainer_, nn::SupervisedTrainer::Create(planned_.options, std::move(parts.views),
                                                           std::move(parts.stages)));
  stream_.emplace(images_, trained_on_, planned_.options.batch, planned_.options.seed);
  labels_.resize(planned_.options.batch);
  head_.clear();
  if (planned_.personal) {
    const std::vector<float> fresh =
        nn::FreshClassifier(planned_.options.encoder, planned_.options.classes, planned_.head_seed);
    head_.assign(
        fresh.end() - static_cast<std::ptrdiff_t>(trainer_->parameters().size() - trainer_->body().size()),
        fresh.end());
  }
  return absl::OkStatus();
}

void ClassifierTrainer::Forget() {
  trainer_.reset();
  stream_.reset();
  head_ = std::vector<float>();
  parameters_ = std::vector<float>();
}

absl::StatusOr<double> ClassifierTrainer::HeldOutAccuracy(const std::stop_token& withdrawn) {
  std::size_t right = 0;
  std::vector<std::uint8_t> pixels;
  for (std::size_t first = 0; first < held_out_.size(); first += planned_.options.batch) {
    if (withdrawn.stop_requested()) return absl::CancelledError("training was interrupted");
    const std::span<const std::uint32_t> batch =
        std::span(held_out_).subspan(first).first(std::min(planned_.options.batch, held_out_.size() - first));
    pixels.clear();
    for (const std::uint32_t i : batch) {
      pixels.insert(pixels.end(), images_.image(i).begin(), images_.image(i).end());
    }
    const std::vector<std::uint8_t> found = trainer_->Classify(pixels);
    if (board_ != nullptr) RETURN_IF_ERROR(board_->TakeFailure());
    for (std::size_t n = 0; n < found.size(); ++n) right += found[n] == images_.labels[batch[n]];
  }
  return static_cast<double>(right) / static_cast<double>(held_out_.size());
}

absl::Status ClassifierTrainer::Train(const wire::TrainTask& task, std::span<const float> global,
                                      const std::stop_token& withdrawn, std::span<float> update,
                                      v1::UpdateMetrics& metrics) {
  if (board_ != nullptr) board_->TakeFailure().IgnoreError();  // of a round that memory ended
  parameters_.assign(global.begin(), global.end());
  parameters_.insert(parameters_.end(), head_.begin(), head_.end());
  RETURN_IF_ERROR(trainer_->SetParameters(parameters_));
  if (!held_out_.empty()) {
    ASSIGN_OR_RETURN(const double accuracy, HeldOutAccuracy(withdrawn));
    metrics.set_held_out_accuracy(accuracy);
  }
  // Views, batches and the learning rate depend only on the step, which the rounds give.
  const std::uint64_t steps = task.train.settings().local_steps(), first = (task.round - 1) * steps;
  trainer_->SeekStep(first, task.train.failed_rounds() * steps);
  double loss = 0;
  for (std::uint64_t step = first; step < first + steps; ++step) {
    if (withdrawn.stop_requested()) return absl::CancelledError("training was interrupted");
    const std::span<const std::uint8_t> images = stream_->Batch(step);
    for (std::size_t n = 0; n < labels_.size(); ++n) labels_[n] = images_.labels[stream_->indices()[n]];
    loss += trainer_->Step(images, labels_) / static_cast<double>(steps);
    if (board_ != nullptr) RETURN_IF_ERROR(board_->TakeFailure());
  }
  if (!nn::CheckFinite(trainer_->parameters()).ok()) {
    return absl::OutOfRangeError("training diverged: lower the learning rate");
  }
  std::ranges::transform(trainer_->parameters().first(global.size()), global, update.begin(), std::minus());
  metrics.set_loss(loss);
  return absl::OkStatus();
}

}  // namespace tributary::learner
