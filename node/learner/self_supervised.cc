#include "node/learner/self_supervised.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/learning/client_settings.h"
#include "core/status/macros.h"
#include "node/learner/node_seed.h"

namespace tributary::learner {
namespace {

// Images for a round's running statistics. With batches of 32 they are as good as a whole set, and take three
// per cent of a round of fifty steps.
constexpr std::uint64_t kMeasuredBatches = 16;

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// The norm covers learned parameters only: running variances differ by hundreds and would dominate it.
double Distance(std::span<const float> a, std::span<const float> b,
                std::span<const parameters::StatisticRange> statistics) {
  double sum = 0;
  std::size_t at = 0;
  const auto add_until = [&](std::size_t end) {
    for (; at < end; ++at) {
      const double difference = static_cast<double>(a[at]) - b[at];
      sum += difference * difference;
    }
  };
  for (const parameters::StatisticRange& range : statistics) {
    add_until(range.first);
    at = range.first + range.count;
  }
  add_until(a.size());
  return std::sqrt(sum);
}

}  // namespace

LocalTrainingOptions LocalTrainingOf(const wire::TrainTask& task, const nn::SelfSupervisedOptions& model,
                                     const std::string& node, std::size_t buffer) {
  const v1::ClientSettings& s = task.train.settings();
  nn::SelfSupervisedOptions trainer = model;
  trainer.method = learning::MethodOf(s);
  trainer.batch = s.batch();
  trainer.learning_rate = s.learning_rate();
  trainer.momentum = s.momentum();
  trainer.weight_decay = s.weight_decay();
  trainer.proximal = s.proximal_mu();
  trainer.target_decay = s.target_decay();
  if (!trainer.predicts()) trainer.temperature = s.temperature();
  trainer.schedule_steps = s.schedule_steps();
  trainer.seed = NodeSeed(s.seed(), node);
  return {.trainer = trainer,
          .augmentation = s.augmentation(),
          .views = learning::StrongViewsOf(s, model.encoder.image()),
          .ema_lambda = s.ema_lambda(),
          .buffer = buffer};
}

absl::StatusOr<std::unique_ptr<SelfSupervisedWorkload>> SelfSupervisedWorkload::Create(
    const images::ImageSet& images, std::vector<std::uint32_t> part, const LocalTrainingOptions& options,
    TrainingBoard* board) {
  if (part.empty()) return absl::InvalidArgumentError("this node has no image to learn from");
  if (std::ranges::max(part) >= images.count()) {
    return absl::InvalidArgumentError(
        fmt::format("the part names image {} of {}", std::ranges::max(part), images.count()));
  }
  const nn::ImageShape taken = options.trainer.encoder.image();
  if (images.shape() != taken) {
    return absl::InvalidArgumentError(
        fmt::format("images of {}, the run's encoder takes {}", images.shape().Text(), taken.Text()));
  }
  if (!(options.ema_lambda >= 0)) return absl::InvalidArgumentError("ema_lambda must not be negative");
  const std::size_t batch = options.trainer.batch;
  if (options.buffer > 0 && (batch % 2 != 0 || options.buffer < batch / 2)) {
    return absl::InvalidArgumentError(
        fmt::format("a buffer of {} images and a batch of {}: needs an even batch, and room for half of it",
                    options.buffer, batch));
  }
  nn::StrongAugmentationOptions views = options.views;
  views.side = images.side;
  views.channels = images.channels;
  ASSIGN_OR_RETURN(EncoderParts parts, CreateParts(options.trainer.encoder, options.trainer.batch,
                                                   options.augmentation, views, board));
  ASSIGN_OR_RETURN(auto trainer, nn::SelfSupervisedTrainer::Create(options.trainer, std::move(parts.views),
                                                                   std::move(parts.stages)));
  return std::unique_ptr<SelfSupervisedWorkload>(
      new SelfSupervisedWorkload(options, board, std::move(trainer), images, std::move(part)));
}

std::uint64_t SelfSupervisedWorkload::Bytes(std::uint64_t images_in_part,
                                            const LocalTrainingOptions& options) {
  const nn::SelfSupervisedOptions& o = options.trainer;
  const std::uint64_t pixels = o.encoder.image().size();
  const std::uint64_t drawn = options.buffer > 0 ? o.batch / 2 : o.batch;  // images of the stream in a step
  std::uint64_t model = 0;
  for (const parameters::TensorShape& tensor : nn::SelfSupervisedSchema(o)) model += tensor.size();
  const std::uint64_t models = 1 + (options.ema_lambda > 0 ? 2 : 0) +  // measured_; local_ and start_
                               (o.method == nn::SelfSupervisedMethod::kByol ? 1 : 0);  // target_
  const std::uint64_t stream = 2 * sizeof(std::uint32_t) * images_in_part +  // the part and its order
                               drawn * (sizeof(std::uint32_t) + pixels);
  const std::uint64_t rehearsal = options.buffer == 0 ? 0
                                                      : 2 * sizeof(images::KeptImage) * options.buffer +
                                                            drawn * (2 * pixels + sizeof(std::size_t));
  return nn::TrainerBytes(o) + models * sizeof(float) * model + stream + rehearsal +
         kMeasuredBatches * drawn * pixels;
}

SelfSupervisedWorkload::SelfSupervisedWorkload(const LocalTrainingOptions& options, TrainingBoard* board,
                                               std::unique_ptr<nn::SelfSupervisedTrainer> trainer,
                                               const images::ImageSet& images,
                                               std::vector<std::uint32_t> part)
    : ema_lambda_(options.ema_lambda),
      board_(board),
      trainer_(std::move(trainer)),
      stream_(images, std::move(part), options.buffer > 0 ? options.trainer.batch / 2 : options.trainer.batch,
              options.trainer.seed),
      statistics_(parameters::FindStatistics(trainer_->Schema())) {
  if (options.buffer > 0) rehearsal_.emplace(stream_, options.buffer, options.trainer.seed);
}

std::span<const float> SelfSupervisedWorkload::Start(std::span<const float> global) {
  if (ema_lambda_ == 0 || local_.empty()) return global;
  const auto mu = static_cast<float>(std::min(ema_lambda_ * Distance(global, local_, statistics_), 1.0));
  start_.resize(global.size());
  for (std::size_t i = 0; i < start_.size(); ++i) start_[i] = mu * local_[i] + (1.0f - mu) * global[i];
  return start_;
}

nn::SelfSupervisedTrainer::StepResult SelfSupervisedWorkload::Step(std::uint64_t step) {
  if (!rehearsal_) return trainer_->Step(stream_.Batch(step));
  const nn::SelfSupervisedTrainer::StepResult result = trainer_->Step(rehearsal_->Batch(step));
  rehearsal_->Score(trainer_->novelty());
  return result;
}

void SelfSupervisedWorkload::MeasureStatistics(std::uint64_t first_batch) {
  if (statistics_.empty()) return;
  sample_.clear();
  sample_.reserve(kMeasuredBatches * stream_.Batch(first_batch).size());
  for (std::uint64_t batch = first_batch; batch < first_batch + kMeasuredBatches; ++batch) {
    const std::span<const std::uint8_t> images = stream_.Batch(batch);
    sample_.insert(sample_.end(), images.begin(), images.end());
  }
  trainer_->CalibrateStatistics(sample_);
  measured_.assign(trainer_->parameters().begin(), trainer_->parameters().end());
}

void SelfSupervisedWorkload::ReportStatistics(std::span<const float> global, std::span<float> update) const {
  std::size_t mean = 0;
  for (const parameters::StatisticRange& range : statistics_) {
    for (std::size_t c = 0; c < range.count; ++c) {
      const std::size_t i = range.first + c;
      update[i] = measured_[i] - global[i];
      if (range.variance) update[i] += update[mean + c] * update[mean + c];
    }
    if (!range.variance) mean = range.first;  // a norm's mean comes right before its variance
  }
}

absl::StatusOr<SelfSupervisedWorkload::Outcome> SelfSupervisedWorkload::Train(
    std::uint64_t round, std::uint64_t steps, std::span<const float> global,
    const std::function<bool()>& interrupted, std::span<float> update, std::uint64_t failed) {
  const std::size_t size = trainer_->parameters().size();
  if (global.size() != size || update.size() != size) {
    return absl::InvalidArgumentError(
        fmt::format("a model of {} parameters, the run's encoder has {}", global.size(), size));
  }
  if (!AllFinite(global)) {
    return absl::InvalidArgumentError("the model has parameters that are not finite");
  }
  if (board_ != nullptr) board_->TakeFailure().IgnoreError();  // of a round that memory ended
  RETURN_IF_ERROR(trainer_->SetParameters(global));
  MeasureStatistics(round * steps);
  RETURN_IF_ERROR(trainer_->SetParameters(Start(global)));
  if (!target_.empty()) RETURN_IF_ERROR(trainer_->SetTarget(target_));
  // Views, batches and the learning rate depend only on the step, which the rounds give, and on the buffer.
  trainer_->SeekStep(round * steps, failed * steps);
  if (rehearsal_) RETURN_IF_ERROR(rehearsal_->Restore(buffered_));
  Outcome outcome;
  for (std::uint64_t step = round * steps; step < (round + 1) * steps; ++step) {
    if (interrupted()) return absl::CancelledError("training was interrupted");
    const nn::SelfSupervisedTrainer::StepResult result = Step(step);
    if (board_ != nullptr) RETURN_IF_ERROR(board_->TakeFailure());
    outcome.loss += result.loss / static_cast<double>(steps);
    outcome.spread = result.spread;
  }
  const std::span<const float> trained = trainer_->parameters();
  std::ranges::transform(trained, global, update.begin(), std::minus());
  ReportStatistics(global, update);
  if (!AllFinite(update)) {
    return absl::OutOfRangeError("training diverged: lower the learning rate");
  }
  return outcome;
}

void SelfSupervisedWorkload::EndRound() {
  const std::span<const float> trained = trainer_->parameters();
  if (ema_lambda_ > 0) local_.assign(trained.begin(), trained.end());
  target_.assign(trainer_->target().begin(), trainer_->target().end());
  if (!rehearsal_) return;
  const std::span<const images::KeptImage> kept = rehearsal_->kept();
  buffered_.assign(kept.begin(), kept.end());
}

absl::Status SelfSupervisedWorkload::SetBuffered(std::span<const images::KeptImage> kept) {
  if (!rehearsal_) return absl::FailedPreconditionError("this node has no buffer");
  RETURN_IF_ERROR(rehearsal_->Restore(kept));
  buffered_.assign(kept.begin(), kept.end());
  return absl::OkStatus();
}

absl::Status SelfSupervisedWorkload::SetTarget(std::span<const float> target) {
  RETURN_IF_ERROR(trainer_->SetTarget(target));
  target_.assign(target.begin(), target.end());
  return absl::OkStatus();
}

absl::Status SelfSupervisedWorkload::SetLocal(std::span<const float> local) {
  if (local.size() != trainer_->parameters().size() || !AllFinite(local)) {
    return absl::InvalidArgumentError("the local model that was kept is not one of this run");
  }
  local_.assign(local.begin(), local.end());
  return absl::OkStatus();
}

}  // namespace tributary::learner
