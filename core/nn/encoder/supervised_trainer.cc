#include "core/nn/encoder/supervised_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/training_limits.h"
#include "core/nn/kernel/random_stream.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr const char* kHeadBias = "head.bias";
constexpr const char* kHeadWeight = "head.weight";

// Uniform with this variance around zero.
void Draw(RandomStream random, double variance, std::span<float> values) {
  const double limit = std::sqrt(3.0 * variance);
  for (float& value : values) value = static_cast<float>(random.Uniform(-limit, limit));
}

}  // namespace

absl::Status Validate(const SupervisedOptions& options) {
  RETURN_IF_ERROR(Validate(options.encoder));
  if (options.encoder.norm == EncoderNorm::kBatch) {
    return absl::InvalidArgumentError(
        "norm must be filter_response or none for a classifier: the nodes' batches differ too much");
  }
  RETURN_IF_ERROR(kClassesLimit.Check("classes", options.classes));
  if (!options.log_priors.empty() &&
      (options.log_priors.size() != options.classes || !CheckFinite(options.log_priors).ok())) {
    return absl::InvalidArgumentError("log_priors must be a finite number for each class");
  }
  RETURN_IF_ERROR(kBatchLimit.Check("batch", options.batch));
  RETURN_IF_ERROR(kLearningRateLimit.Check("learning_rate", options.learning_rate));
  RETURN_IF_ERROR(kMomentumLimit.Check("momentum", options.momentum));
  RETURN_IF_ERROR(kWeightDecayLimit.Check("weight_decay", options.weight_decay));
  return kProximalLimit.Check("proximal", options.proximal);
}

std::vector<parameters::TensorShape> ClassifierSchema(const EncoderOptions& encoder, std::size_t classes) {
  std::vector<parameters::TensorShape> tensors = EncoderTensors(encoder);
  if (classes > 0) {
    tensors.push_back({kHeadBias, {classes}});
    tensors.push_back({kHeadWeight, {classes, encoder.feature_count()}});
  }
  return ParameterLayout(std::move(tensors)).tensors();
}

std::vector<float> FreshClassifier(const EncoderOptions& encoder, std::size_t classes, std::uint64_t seed) {
  const ParameterLayout layout(ClassifierSchema(encoder, classes));
  std::vector<float> parameters(layout.size());
  for (const parameters::TensorShape& tensor : layout.tensors()) {
    const ParameterRange range = layout.Range(tensor.name);
    const std::span<float> values = range.Of(std::span(parameters));
    const double inputs = static_cast<double>(tensor.size()) / static_cast<double>(tensor.shape[0]);
    if (tensor.name == kHeadWeight) {
      const std::size_t width = encoder.feature_count();
      for (std::size_t k = 0; k < classes; ++k) {
        Draw(RandomStream::Of(~seed, k), 1.0 / inputs, values.subspan(k * width, width));
      }
    } else if (tensor.shape.size() > 1) {
      // Before a ReLU (He et al., 2015).
      Draw(RandomStream::Of(seed, std::uint64_t{range.offset}), 2.0 / inputs, values);
    } else {
      std::ranges::fill(values, tensor.name.ends_with(".weight") ? 1.0f : 0.0f);
    }
  }
  return parameters;
}

std::uint64_t TrainerBytes(const SupervisedOptions& o) {
  const std::uint64_t model = ParameterLayout(ClassifierSchema(o.encoder, o.classes)).size();
  const std::uint64_t features = o.encoder.feature_count();
  return 4 * sizeof(float) * model +  // with gradient, velocity and anchor
         EncoderPassBytes(o.encoder, o.batch) + EncoderBytes(o.encoder, o.batch) + Gemm::kBytes +
         o.batch * o.encoder.image().size() + 2 * sizeof(float) * o.batch * (features + o.classes) +
         sizeof(float) * o.log_priors.size();
}

absl::StatusOr<std::unique_ptr<SupervisedTrainer>> SupervisedTrainer::Create(
    const SupervisedOptions& options, std::unique_ptr<Augmenter> augmenter, std::unique_ptr<StageUnit> unit) {
  RETURN_IF_ERROR(Validate(options));
  std::unique_ptr<SupervisedTrainer> trainer(new SupervisedTrainer(options, std::move(augmenter)));
  trainer->encoder_.SetUnit(std::move(unit));
  return trainer;
}

SupervisedTrainer::SupervisedTrainer(const SupervisedOptions& options, std::unique_ptr<Augmenter> augmenter)
    : options_(options),
      layout_(ClassifierSchema(options.encoder, options.classes)),
      bias_(layout_.Range(kHeadBias)),
      weight_(layout_.Range(kHeadWeight)),
      body_size_(bias_.offset),
      augmenter_(std::move(augmenter)),
      encoder_(options.encoder, layout_, options.batch),
      pass_(options.encoder, options.batch),
      sgd_(layout_.size(), options.momentum, options.weight_decay),
      parameters_(FreshClassifier(options.encoder, options.classes, options.seed)),
      gradient_(layout_.size()),
      anchor_(parameters_),
      views_(options.batch * options.encoder.image().size()),
      features_(options.encoder.feature_count() * options.batch),
      feature_gradient_(features_.size()),
      logits_(options.classes * options.batch),
      logit_gradient_(logits_.size()) {}

absl::Status SupervisedTrainer::SetParameters(std::span<const float> parameters) {
  if (parameters.size() != layout_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} parameters given, the classifier has {}", parameters.size(), layout_.size()));
  }
  RETURN_IF_ERROR(CheckFinite(parameters));
  parameters_.assign(parameters.begin(), parameters.end());
  anchor_ = parameters_;
  sgd_.Reset();
  return absl::OkStatus();
}

void SupervisedTrainer::Forward(std::span<const std::uint8_t> images) {
  encoder_.Forward(EncoderStatistics::kBatch, parameters_, images, pass_, features_);
  const std::size_t features = options_.encoder.feature_count();
  gemm_.Multiply(RowMajor(weight_.Of(parameters()).data(), options_.classes, features),
                 RowMajor(features_.data(), features, options_.batch), logits_.data());
  const std::span<const float> bias = bias_.Of(parameters());
  for (std::size_t k = 0; k < options_.classes; ++k) {
    const float offset = bias[k] + (options_.log_priors.empty() ? 0.0f : options_.log_priors[k]);
    for (float& logit : std::span(logits_).subspan(k * options_.batch, options_.batch)) logit += offset;
  }
}

void SupervisedTrainer::HeadGradient() {
  const std::size_t features = options_.encoder.feature_count(), batch = options_.batch;
  const std::span<float> gradient(gradient_);
  for (std::size_t k = 0; k < options_.classes; ++k) {
    float sum = 0;
    for (std::size_t n = 0; n < batch; ++n) sum += logit_gradient_[k * batch + n];
    bias_.Of(gradient)[k] = sum;
  }
  gemm_.Multiply(RowMajor(logit_gradient_.data(), options_.classes, batch),
                 Transposed(RowMajor(features_.data(), features, batch)), weight_.Of(gradient).data());
}

double SupervisedTrainer::Step(std::span<const std::uint8_t> images, std::span<const std::uint8_t> labels) {
  if (augmenter_) {
    augmenter_->MakeViews(images, RandomStream::Of(options_.seed, step_).Bits(), views_);
  } else {
    std::ranges::copy(images, views_.begin());
  }
  Forward(views_);
  const double weight = 1.0 / static_cast<double>(options_.batch);
  const double loss =
      CrossEntropy(logits_, options_.batch, labels, static_cast<float>(weight), logit_gradient_);
  if (options_.head_learns) HeadGradient();
  const std::size_t features = options_.encoder.feature_count();
  gemm_.Multiply(Transposed(RowMajor(weight_.Of(parameters()).data(), options_.classes, features)),
                 RowMajor(logit_gradient_.data(), options_.classes, options_.batch),
                 feature_gradient_.data());
  std::ranges::fill(std::span(gradient_).first(body_size_), 0.0f);
  encoder_.Backward(parameters_, pass_, feature_gradient_, gradient_);
  Descend();
  return weight * loss;
}

void SupervisedTrainer::Descend() {
  const std::size_t moves = options_.head_learns ? parameters_.size() : body_size_;
  if (options_.proximal > 0) {
    const auto weight = static_cast<float>(options_.proximal);
    for (std::size_t i = 0; i < moves; ++i) gradient_[i] += weight * (parameters_[i] - anchor_[i]);
  }
  const CosineSchedule schedule{options_.learning_rate * static_cast<double>(options_.batch) / 256.0,
                                options_.schedule_steps};
  sgd_.Step(0, std::span(parameters_).first(moves), std::span<const float>(gradient_).first(moves),
            schedule.Rate(step_ - behind_));
  ++step_;
}

std::vector<std::uint8_t> SupervisedTrainer::Classify(std::span<const std::uint8_t> images) {
  const std::size_t pixels = options_.encoder.image().size(), batch = options_.batch;
  std::vector<std::uint8_t> classes(images.size() / pixels);
  for (std::size_t first = 0; first < classes.size(); first += batch) {
    const std::size_t valid = std::min(batch, classes.size() - first);
    std::ranges::copy(images.subspan(first * pixels, valid * pixels), views_.begin());
    Forward(views_);
    for (std::size_t n = 0; n < valid; ++n) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < options_.classes; ++k) {
        if (logits_[k * batch + n] > logits_[best * batch + n]) best = k;
      }
      classes[first + n] = static_cast<std::uint8_t>(best);
    }
  }
  return classes;
}

}  // namespace tributary::nn
