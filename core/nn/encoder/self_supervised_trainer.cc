#include "core/nn/encoder/self_supervised_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nn/encoder/training_limits.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/optimise/cosine_loss.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

// A head of SimSiam and BYOL: two dense layers with a norm and a ReLU between them, perhaps a norm behind.
std::vector<DenseStep> HeadSteps(const std::string& name, std::size_t inputs, std::size_t hidden,
                                 std::size_t outputs, bool norm, bool output_norm) {
  std::vector<DenseStep> steps = {{DenseStepKind::kDense, inputs, hidden, name + ".linear1"}};
  if (norm) steps.push_back({DenseStepKind::kNorm, hidden, hidden, name + ".norm1"});
  steps.push_back({DenseStepKind::kRelu, hidden, hidden});
  steps.push_back({DenseStepKind::kDense, hidden, outputs, name + ".linear2"});
  if (output_norm) steps.push_back({DenseStepKind::kNorm, outputs, outputs, name + ".norm2"});
  return steps;
}

std::vector<DenseStep> ProjectorSteps(const SelfSupervisedOptions& o) {
  return HeadSteps("projector", o.encoder.feature_count(), o.projection, o.projection, o.head_norm,
                   o.head_norm);
}

std::vector<DenseStep> PredictorSteps(const SelfSupervisedOptions& o) {
  if (o.bottleneck == 0) return {};
  return HeadSteps("predictor", o.projection, o.bottleneck, o.projection, o.head_norm, false);
}

ParameterLayout LayoutOf(const SelfSupervisedOptions& o) {
  std::vector<parameters::TensorShape> tensors = EncoderTensors(o.encoder);
  for (const std::vector<DenseStep>& head : {ProjectorSteps(o), PredictorSteps(o)}) {
    for (parameters::TensorShape& tensor : DenseTensors(head)) tensors.push_back(std::move(tensor));
  }
  return ParameterLayout(std::move(tensors));
}

// A model may have a predictor that its method does not use.
bool Predicts(const SelfSupervisedOptions& o) { return o.predicts() && o.bottleneck > 0; }

}  // namespace

SelfSupervisedOptions FreshOptions(SelfSupervisedMethod method) {
  SelfSupervisedOptions options;
  options.method = method;
  if (!options.predicts()) options.bottleneck = 0;
  return options;
}

std::vector<parameters::TensorShape> SelfSupervisedSchema(const SelfSupervisedOptions& options) {
  return LayoutOf(options).tensors();
}

absl::Status CheckFinite(std::span<const float> parameters) {
  const auto bad = std::ranges::find_if(parameters, [](float value) { return !std::isfinite(value); });
  if (bad == parameters.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("parameter {} is not finite", bad - parameters.begin()));
}

std::uint64_t TrainerBytes(const SelfSupervisedOptions& o) {
  const std::uint64_t model = LayoutOf(o).size(), batch = o.batch;
  const std::uint64_t features = o.encoder.feature_count();
  const std::uint64_t vectors = o.method == SelfSupervisedMethod::kByol ? 5 : 4;  // with gradient, velocity
  const std::uint64_t predictor =
      Predicts(o) ? 2 * DensePassBytes(PredictorSteps(o), batch) + DenseStackBytes(PredictorSteps(o), batch)
                  : 0;
  const std::uint64_t contrast = o.predicts() ? 0 : ContrastiveLoss::Bytes(o.projection, batch);
  const std::uint64_t pass = EncoderPassBytes(o.encoder, batch) + DensePassBytes(ProjectorSteps(o), batch) +
                             sizeof(float) * batch * (features + o.projection);
  return vectors * sizeof(float) * model + 2 * pass + predictor + contrast + EncoderBytes(o.encoder, batch) +
         DenseStackBytes(ProjectorSteps(o), batch) + 2 * batch * o.encoder.image().size() +
         sizeof(float) * batch * (2 * o.projection + features + 1) + sizeof(double) * batch;
}

absl::Status Validate(const SelfSupervisedOptions& options) {
  RETURN_IF_ERROR(Validate(options.encoder));
  RETURN_IF_ERROR(kProjectionLimit.Check("projection", options.projection));
  RETURN_IF_ERROR(kBottleneckLimit.Check("bottleneck", options.bottleneck));
  if (options.predicts() && options.bottleneck == 0) {
    return absl::InvalidArgumentError("bottleneck is 0: only simclr trains a model without a predictor");
  }
  RETURN_IF_ERROR(kBatchLimit.Check("batch", options.batch));
  RETURN_IF_ERROR(kLearningRateLimit.Check("learning_rate", options.learning_rate));
  RETURN_IF_ERROR(kMomentumLimit.Check("momentum", options.momentum));
  RETURN_IF_ERROR(kWeightDecayLimit.Check("weight_decay", options.weight_decay));
  RETURN_IF_ERROR(kTargetDecayLimit.Check("target_decay", options.target_decay));
  RETURN_IF_ERROR(kTemperatureLimit.Check("temperature", options.temperature));
  if (!options.predicts() && options.temperature == 0) {
    return absl::InvalidArgumentError("temperature must be above 0 for simclr");
  }
  return kProximalLimit.Check("proximal", options.proximal);
}

absl::StatusOr<std::unique_ptr<SelfSupervisedTrainer>> SelfSupervisedTrainer::Create(
    const SelfSupervisedOptions& options, std::unique_ptr<Augmenter> augmenter,
    std::unique_ptr<StageUnit> unit) {
  RETURN_IF_ERROR(Validate(options));
  std::unique_ptr<SelfSupervisedTrainer> trainer(new SelfSupervisedTrainer(options, std::move(augmenter)));
  trainer->encoder_.SetUnit(std::move(unit));
  return trainer;
}

SelfSupervisedTrainer::Pass::Pass(const SelfSupervisedOptions& o)
    : encoder(o.encoder, o.batch),
      features(o.encoder.feature_count() * o.batch),
      projector(ProjectorSteps(o), o.batch),
      predictor(Predicts(o) ? PredictorSteps(o) : std::vector<DenseStep>(), o.batch),
      target(o.projection * o.batch) {}

SelfSupervisedTrainer::SelfSupervisedTrainer(const SelfSupervisedOptions& options,
                                             std::unique_ptr<Augmenter> augmenter)
    : options_(options),
      layout_(LayoutOf(options)),
      augmenter_(std::move(augmenter)),
      encoder_(options.encoder, layout_, options.batch),
      projector_(ProjectorSteps(options), layout_, options.batch),
      sgd_(layout_.size(), options.momentum, options.weight_decay),
      parameters_(layout_.size()),
      gradient_(layout_.size()),
      passes_{Pass(options), Pass(options)},
      views_(2 * options.batch * options.encoder.image().size()),
      feature_gradient_(options.encoder.feature_count() * options.batch),
      novelty_(options.batch),
      norms_(options.batch) {
  const std::size_t projections = options.projection * options.batch;
  projection_gradient_[0].resize(projections);
  if (Predicts(options)) {
    predictor_.emplace(PredictorSteps(options), layout_, options.batch);
    prediction_gradient_.resize(projections);
  } else {
    contrast_.emplace(options.projection, options.batch);
    projection_gradient_[1].resize(projections);
  }
  if (!augmenter_)
    augmenter_ =
        CreateContinuousAugmenter({.side = options.encoder.side, .channels = options.encoder.input_channels});
  Initialise();
  anchor_ = parameters_;
  if (options_.method == SelfSupervisedMethod::kByol) target_ = parameters_;
}

void SelfSupervisedTrainer::Initialise() {
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

absl::Status SelfSupervisedTrainer::SetParameters(std::span<const float> parameters) {
  if (parameters.size() != layout_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} parameters given, the model has {}", parameters.size(), layout_.size()));
  }
  RETURN_IF_ERROR(CheckFinite(parameters));
  parameters_.assign(parameters.begin(), parameters.end());
  anchor_ = parameters_;
  if (!target_.empty()) target_ = parameters_;
  sgd_.Reset();
  return absl::OkStatus();
}

absl::Status SelfSupervisedTrainer::SetTarget(std::span<const float> target) {
  if (target_.empty()) return absl::FailedPreconditionError("this method has no target network");
  if (target.size() != target_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("a target of {} parameters, the model has {}", target.size(), target_.size()));
  }
  RETURN_IF_ERROR(CheckFinite(target));
  target_.assign(target.begin(), target.end());
  return absl::OkStatus();
}

// Call it first in a step: the running statistics learn from it, too.
void SelfSupervisedTrainer::Project(std::span<float> parameters, std::span<const std::uint8_t> images,
                                    Pass& pass) {
  encoder_.Forward(EncoderStatistics::kBatch, parameters, images, pass.encoder, pass.features);
  encoder_.MixStatistics(pass.encoder, kEncoderNormMomentum, parameters);
  projector_.Forward(parameters,
                     RowMajor(pass.features.data(), options_.encoder.feature_count(), options_.batch),
                     pass.projector);
}

void SelfSupervisedTrainer::Descend() {
  if (options_.proximal > 0) {
    const float weight = static_cast<float>(options_.proximal);
    for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] += weight * (parameters_[i] - anchor_[i]);
  }
  const double base = options_.learning_rate * static_cast<double>(options_.batch) / 256.0;
  const CosineSchedule schedule{base, options_.schedule_steps};
  const double rate = schedule.Rate(step_ - behind_);
  for (const parameters::TensorShape& tensor : layout_.tensors()) {
    if (tensor.name.find(".running_") != std::string::npos) continue;
    const bool predictor = tensor.name.starts_with("predictor.");
    if (predictor && !predictor_) continue;  // weight decay would wear it down
    const ParameterRange range = layout_.Range(tensor.name);
    // The predictor must keep up with the encoder, so its rate is constant ([Chen21], appendix A).
    sgd_.Step(range.offset, range.Of(std::span(parameters_)), range.Of(std::span<const float>(gradient_)),
              predictor ? base : rate);
  }
  if (!target_.empty()) {
    const CosineSchedule remaining{1.0 - options_.target_decay, options_.schedule_steps};
    const float part = static_cast<float>(remaining.Rate(step_ - behind_));
    for (std::size_t i = 0; i < target_.size(); ++i) target_[i] += part * (parameters_[i] - target_[i]);
  }
  ++step_;
}

SelfSupervisedTrainer::StepResult SelfSupervisedTrainer::Step(std::span<const std::uint8_t> images) {
  const std::size_t half = views_.size() / 2;
  const std::array<std::span<std::uint8_t>, 2> views = {std::span(views_).first(half),
                                                        std::span(views_).subspan(half)};
  for (std::size_t v = 0; v < 2; ++v) {
    augmenter_->MakeViews(images, RandomStream::Of(options_.seed, 2 * step_ + v).Bits(), views[v]);
    Pass& pass = passes_[v];
    if (!target_.empty()) {  // BYOL: what the other view's prediction aims at
      Project(target_, views[v], pass);
      std::ranges::copy(pass.projector.result(), pass.target.begin());
    }
    Project(parameters_, views[v], pass);
    if (target_.empty()) std::ranges::copy(pass.projector.result(), pass.target.begin());
  }

  Cosines(passes_[0].projector.result(), passes_[1].projector.result(), options_.batch, novelty_);
  for (float& value : novelty_) value = 1.0f - value;

  std::ranges::fill(gradient_, 0.0f);
  const double spread = Spread(passes_[0].projector.result(), options_.batch, norms_);
  const StepResult result{predictor_ ? Predict() : Contrast(), spread};
  Descend();
  return result;
}

double SelfSupervisedTrainer::Contrast() {
  const double loss =
      contrast_->Compute(passes_[0].projector.result(), passes_[1].projector.result(), options_.temperature,
                         projection_gradient_[0], projection_gradient_[1]);
  for (std::size_t v = 0; v < 2; ++v) Backward(passes_[v], projection_gradient_[v]);
  return loss;
}

double SelfSupervisedTrainer::Predict() {
  double loss = 0;
  for (std::size_t v = 0; v < 2; ++v) {
    Pass& pass = passes_[v];
    predictor_->Forward(parameters_,
                        RowMajor(pass.projector.result().data(), options_.projection, options_.batch),
                        pass.predictor);
    loss += 0.5 * CosineLoss(pass.predictor.result(), passes_[1 - v].target, options_.batch, 0.5f,
                             prediction_gradient_);
    predictor_->Backward(parameters_, pass.predictor, prediction_gradient_, gradient_,
                         projection_gradient_[0]);
    Backward(pass, projection_gradient_[0]);
  }
  return loss;
}

void SelfSupervisedTrainer::Backward(Pass& pass, std::span<float> projection_gradient) {
  projector_.Backward(parameters_, pass.projector, projection_gradient, gradient_, feature_gradient_);
  encoder_.Backward(parameters_, pass.encoder, feature_gradient_, gradient_);
}

void SelfSupervisedTrainer::CalibrateStatistics(std::span<const std::uint8_t> images) {
  const std::size_t size = views_.size() / 2;
  Pass& pass = passes_[0];
  for (std::size_t first = 0; first + size <= images.size(); first += size) {
    encoder_.Forward(EncoderStatistics::kBatch, parameters_, images.subspan(first, size), pass.encoder,
                     pass.features);
    const auto weight = static_cast<float>(size) / static_cast<float>(first + size);
    encoder_.MixStatistics(pass.encoder, weight, parameters_);
  }
}

std::vector<float> SelfSupervisedTrainer::Features(std::span<const std::uint8_t> images) {
  const std::size_t pixels = options_.encoder.image().size();
  const std::size_t count = images.size() / pixels, width = options_.encoder.feature_count();
  std::vector<float> features(count * width);
  Pass& pass = passes_[0];
  const std::span<std::uint8_t> batch = std::span(views_).first(options_.batch * pixels);
  for (std::size_t first = 0; first < count; first += options_.batch) {
    const std::size_t valid = std::min(options_.batch, count - first);
    std::ranges::copy(images.subspan(first * pixels, valid * pixels), batch.begin());
    encoder_.Forward(EncoderStatistics::kRunning, parameters_, batch, pass.encoder, pass.features);
    for (std::size_t n = 0; n < valid; ++n) {
      for (std::size_t f = 0; f < width; ++f) {
        features[(first + n) * width + f] = pass.features[f * options_.batch + n];
      }
    }
  }
  return features;
}

}  // namespace tributary::nn
