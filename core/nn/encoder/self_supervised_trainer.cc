#include "core/nn/encoder/self_supervised_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <tuple>

#include "core/nn/encoder/augmentation_continuous.h"
#include "core/nn/encoder/encoder.h"
#include "core/nn/encoder/projection_head.h"
#include "core/nn/encoder/training_limits.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/optimise/cosine_loss.h"
#include "core/nn/optimise/sgd.h"

namespace tributary::nn {
namespace {

ProjectionHeadShape ProjectorShape(const SelfSupervisedOptions& o) {
  return {"projector", o.encoder.feature_count(), o.projection, o.projection, o.head_norm, o.head_norm};
}

ProjectionHeadShape PredictorShape(const SelfSupervisedOptions& o) {
  return {"predictor", o.projection, o.bottleneck, o.projection, o.head_norm, false};
}

ParameterLayout LayoutOf(const SelfSupervisedOptions& o) {
  std::vector<parameters::TensorShape> tensors = EncoderTensors(o.encoder);
  for (const ProjectionHeadShape& head : {ProjectorShape(o), PredictorShape(o)}) {
    for (parameters::TensorShape& tensor : ProjectionHeadTensors(head)) tensors.push_back(std::move(tensor));
  }
  return ParameterLayout(std::move(tensors));
}

}  // namespace

class SelfSupervisedTrainer::Impl {
 public:
  Impl(const SelfSupervisedOptions& options, std::unique_ptr<Augmenter> augmenter)
      : options_(options),
        layout_(LayoutOf(options)),
        augmenter_(std::move(augmenter)),
        encoder_(options.encoder, layout_, options.batch),
        projector_(ProjectorShape(options), layout_, options.batch),
        predictor_(PredictorShape(options), layout_, options.batch),
        sgd_(layout_.size(), options.momentum, options.weight_decay),
        parameters_(layout_.size()),
        gradient_(layout_.size()),
        passes_{Pass(options), Pass(options)},
        views_(2 * options.batch * options.encoder.side * options.encoder.side),
        prediction_gradient_(options.projection * options.batch),
        projection_gradient_(options.projection * options.batch),
        feature_gradient_(options.encoder.feature_count() * options.batch),
        novelty_(options.batch),
        norms_(options.batch) {
    if (!augmenter_) {
      ContinuousAugmentationOptions continuous;
      continuous.side = options.encoder.side;
      augmenter_ = std::make_unique<ContinuousAugmentation>(continuous);
    }
    Initialise();
    anchor_ = parameters_;
    if (options_.method == SelfSupervisedMethod::kByol) target_ = parameters_;
  }

  const SelfSupervisedOptions& options() const { return options_; }
  const ParameterLayout& layout() const { return layout_; }
  std::span<const float> parameters() const { return parameters_; }
  std::uint64_t& step() { return step_; }

  void SetParameters(std::span<const float> parameters) {
    std::ranges::copy(parameters, parameters_.begin());
    std::ranges::copy(parameters, anchor_.begin());
    if (!target_.empty()) target_ = parameters_;
    sgd_.Reset();
  }

  StepResult Step(std::span<const std::uint8_t> images) {
    const std::size_t half = views_.size() / 2;
    const std::array<std::span<std::uint8_t>, 2> views = {std::span(views_).first(half),
                                                          std::span(views_).subspan(half)};
    for (std::size_t v = 0; v < 2; ++v) {
      augmenter_->MakeViews(images, RandomStream::Of(options_.seed, 2 * step_ + v).Bits(), views[v]);
      Pass& pass = passes_[v];
      if (!target_.empty()) {  // BYOL: what the other view's prediction aims at
        Project(target_, views[v], pass);
        std::ranges::copy(pass.projector.output, pass.target.begin());
      }
      Project(parameters_, views[v], pass);
      predictor_.Forward(parameters_, pass.projector.output, pass.predictor);
      if (target_.empty()) std::ranges::copy(pass.projector.output, pass.target.begin());
    }

    Cosines(passes_[0].projector.output, passes_[1].projector.output, options_.batch, novelty_);
    for (float& value : novelty_) value = 1.0f - value;

    std::ranges::fill(gradient_, 0.0f);
    StepResult result{0, Spread(passes_[0].projector.output, options_.batch, norms_)};
    for (std::size_t v = 0; v < 2; ++v) {
      Pass& pass = passes_[v];
      result.loss += 0.5 * CosineLoss(pass.predictor.output, passes_[1 - v].target, options_.batch, 0.5f,
                                      prediction_gradient_);
      predictor_.Backward(parameters_, pass.predictor, prediction_gradient_, gradient_, projection_gradient_);
      projector_.Backward(parameters_, pass.projector, projection_gradient_, gradient_, feature_gradient_);
      encoder_.Backward(parameters_, pass.encoder, feature_gradient_, gradient_);
    }
    Descend();
    return result;
  }

  std::span<const float> novelty() const { return novelty_; }

  void CalibrateStatistics(std::span<const std::uint8_t> images) {
    const std::size_t size = views_.size() / 2;
    Pass& pass = passes_[0];
    for (std::size_t first = 0; first + size <= images.size(); first += size) {
      encoder_.TrainForward(parameters_, images.subspan(first, size), pass.encoder, pass.features);
      const auto weight = static_cast<float>(size) / static_cast<float>(first + size);
      encoder_.MixStatistics(pass.encoder, weight, parameters_);
    }
  }

  std::vector<float> Features(std::span<const std::uint8_t> images) {
    const std::size_t pixels = options_.encoder.side * options_.encoder.side;
    const std::size_t count = images.size() / pixels, width = options_.encoder.feature_count();
    std::vector<float> features(count * width);
    Pass& pass = passes_[0];
    const std::span<std::uint8_t> batch = std::span(views_).first(options_.batch * pixels);
    for (std::size_t first = 0; first < count; first += options_.batch) {
      const std::size_t valid = std::min(options_.batch, count - first);
      std::ranges::copy(images.subspan(first * pixels, valid * pixels), batch.begin());
      encoder_.Infer(parameters_, batch, pass.encoder, pass.features);
      for (std::size_t n = 0; n < valid; ++n) {
        for (std::size_t f = 0; f < width; ++f) {
          features[(first + n) * width + f] = pass.features[f * options_.batch + n];
        }
      }
    }
    return features;
  }

 private:
  struct Pass {
    explicit Pass(const SelfSupervisedOptions& o)
        : encoder(o.encoder, o.batch),
          features(o.encoder.feature_count() * o.batch),
          projector(ProjectorShape(o), o.batch),
          predictor(PredictorShape(o), o.batch),
          target(o.projection * o.batch) {}
    EncoderPass encoder;
    std::vector<float> features;
    ProjectionHeadPass projector;
    ProjectionHeadPass predictor;
    std::vector<float> target;
  };

  void Initialise() {
    for (const parameters::TensorShape& tensor : layout_.tensors()) {
      const std::span<float> values = layout_.Range(tensor.name).Of(std::span(parameters_));
      if (tensor.shape.size() == 1) {
        const bool one = tensor.name.ends_with(".weight") || tensor.name.ends_with("_variance");
        std::ranges::fill(values, one ? 1.0f : 0.0f);
        continue;
      }
      // Uniform with variance 2 / inputs (He et al., 2015).
      const double inputs = static_cast<double>(tensor.size()) / static_cast<double>(tensor.shape[0]);
      const double limit = std::sqrt(6.0 / inputs);
      RandomStream random = RandomStream::Of(options_.seed, std::uint64_t{layout_.Range(tensor.name).offset});
      for (float& value : values) value = static_cast<float>(random.Uniform(-limit, limit));
    }
  }

  // Call it first in a step: the running statistics learn from it, too.
  void Project(std::span<float> parameters, std::span<const std::uint8_t> images, Pass& pass) {
    encoder_.TrainForward(parameters, images, pass.encoder, pass.features);
    encoder_.MixStatistics(pass.encoder, kEncoderNormMomentum, parameters);
    projector_.Forward(parameters, pass.features, pass.projector);
  }

  void Descend() {
    if (options_.proximal > 0) {
      const float weight = static_cast<float>(options_.proximal);
      for (std::size_t i = 0; i < gradient_.size(); ++i)
        gradient_[i] += weight * (parameters_[i] - anchor_[i]);
    }
    const double base = options_.learning_rate * static_cast<double>(options_.batch) / 256.0;
    const CosineSchedule schedule{base, options_.schedule_steps};
    const double rate = schedule.Rate(step_);
    for (const parameters::TensorShape& tensor : layout_.tensors()) {
      if (tensor.name.find(".running_") != std::string::npos) continue;
      const ParameterRange range = layout_.Range(tensor.name);
      // The predictor must keep up with the encoder, so its rate is constant ([Chen21], appendix A).
      sgd_.Step(range.offset, range.Of(std::span(parameters_)), range.Of(std::span<const float>(gradient_)),
                tensor.name.starts_with("predictor.") ? base : rate);
    }
    if (!target_.empty()) {
      const CosineSchedule remaining{1.0 - options_.target_decay, options_.schedule_steps};
      const float part = static_cast<float>(remaining.Rate(step_));
      for (std::size_t i = 0; i < target_.size(); ++i) target_[i] += part * (parameters_[i] - target_[i]);
    }
    ++step_;
  }

  SelfSupervisedOptions options_;
  ParameterLayout layout_;
  std::unique_ptr<Augmenter> augmenter_;
  Encoder encoder_;
  ProjectionHead projector_, predictor_;
  Sgd sgd_;
  std::uint64_t step_ = 0;
  std::vector<float> parameters_, gradient_;
  std::vector<float> anchor_;   // at the last SetParameters
  std::vector<float> target_;   // BYOL's moving average; empty for SimSiam
  std::array<Pass, 2> passes_;  // one per view
  std::vector<std::uint8_t> views_;
  std::vector<float> prediction_gradient_, projection_gradient_, feature_gradient_;
  std::vector<float> novelty_;  // [batch], of the last step
  std::vector<double> norms_;   // [batch], scratch
};

absl::Status Validate(const SelfSupervisedOptions& options) {
  if (absl::Status status = Validate(options.encoder); !status.ok()) return status;
  const auto count = [](std::size_t value) { return static_cast<double>(value); };
  const std::tuple<std::string_view, TrainingLimit, double> checks[] = {
      {"projection", kProjectionLimit, count(options.projection)},
      {"bottleneck", kBottleneckLimit, count(options.bottleneck)},
      {"batch", kBatchLimit, count(options.batch)},
      {"learning_rate", kLearningRateLimit, options.learning_rate},
      {"momentum", kMomentumLimit, options.momentum},
      {"weight_decay", kWeightDecayLimit, options.weight_decay},
      {"target_decay", kTargetDecayLimit, options.target_decay},
      {"proximal", kProximalLimit, options.proximal}};
  for (const auto& [name, limit, value] : checks) {
    if (!limit.Admits(value)) return absl::InvalidArgumentError(limit.Refusal(name, value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SelfSupervisedTrainer>> SelfSupervisedTrainer::Create(
    const SelfSupervisedOptions& options, std::unique_ptr<Augmenter> augmenter) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::unique_ptr<SelfSupervisedTrainer>(
      new SelfSupervisedTrainer(std::make_unique<Impl>(options, std::move(augmenter))));
}

SelfSupervisedTrainer::SelfSupervisedTrainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SelfSupervisedTrainer::~SelfSupervisedTrainer() = default;

const SelfSupervisedOptions& SelfSupervisedTrainer::options() const { return impl_->options(); }
const std::vector<parameters::TensorShape>& SelfSupervisedTrainer::Schema() const {
  return impl_->layout().tensors();
}
std::span<const float> SelfSupervisedTrainer::parameters() const { return impl_->parameters(); }

absl::Status SelfSupervisedTrainer::SetParameters(std::span<const float> parameters) {
  if (parameters.size() != impl_->layout().size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} parameters given, the model has {}", parameters.size(), impl_->layout().size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!std::isfinite(parameters[i])) {
      return absl::InvalidArgumentError(fmt::format("parameter {} is not finite", i));
    }
  }
  impl_->SetParameters(parameters);
  return absl::OkStatus();
}

void SelfSupervisedTrainer::SeekStep(std::uint64_t step) { impl_->step() = step; }
std::uint64_t SelfSupervisedTrainer::step() const { return impl_->step(); }

SelfSupervisedTrainer::StepResult SelfSupervisedTrainer::Step(std::span<const std::uint8_t> images) {
  return impl_->Step(images);
}

std::span<const float> SelfSupervisedTrainer::novelty() const { return impl_->novelty(); }

void SelfSupervisedTrainer::CalibrateStatistics(std::span<const std::uint8_t> images) {
  impl_->CalibrateStatistics(images);
}

std::vector<float> SelfSupervisedTrainer::Features(std::span<const std::uint8_t> images) {
  return impl_->Features(images);
}

}  // namespace tributary::nn
