#include "core/nn/encoder/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/nn/encoder/training_limits.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

std::vector<std::size_t> Sides(const EncoderOptions& options) {
  std::vector<std::size_t> sides = {options.side};
  for (std::size_t i = 0; i < options.channels.size(); ++i) sides.push_back(sides.back() / 2);
  return sides;
}

std::size_t Inputs(const EncoderOptions& options, std::size_t stage) {
  return stage == 0 ? options.input_channels : options.channels[stage - 1];
}

}  // namespace

absl::Status Validate(const EncoderOptions& options) {
  RETURN_IF_ERROR(kImageSideLimit.Check("encoder.side", options.side));
  if (options.input_channels != 1 && options.input_channels != ImageShape::kColour) {
    return absl::InvalidArgumentError(fmt::format(
        "encoder.input_channels must be 1 (grey) or 3 (colour), found {}", options.input_channels));
  }
  RETURN_IF_ERROR(kStagesLimit.Check("encoder.channels: stages", options.channels.size()));
  for (const std::size_t channels : options.channels) {
    RETURN_IF_ERROR(kChannelsLimit.Check("encoder.channels", channels));
  }
  const std::size_t last_side = options.side >> options.channels.size();
  if (last_side < 1) {
    return absl::InvalidArgumentError("encoder.channels: too many stages for the side of the images");
  }
  const TrainingLimit areas = {1, static_cast<double>(last_side)};
  RETURN_IF_ERROR(areas.Check("encoder.grid", options.grid));
  if (options.quantised &&
      (options.norm != EncoderNorm::kNone || options.activation != EncoderActivation::kHardClip)) {
    return absl::InvalidArgumentError(
        "encoder.quantised needs norm none and activation hard_clip: the unit has no norm");
  }
  return absl::OkStatus();
}

std::vector<parameters::TensorShape> EncoderTensors(const EncoderOptions& options) {
  std::vector<parameters::TensorShape> tensors;
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::uint64_t outputs = options.channels[i];
    tensors.push_back({fmt::format("encoder.conv{}.weight", i + 1), {outputs, Inputs(options, i), 3, 3}});
    if (options.norm == EncoderNorm::kNone) continue;
    const std::string norm = fmt::format("encoder.norm{}.", i + 1);
    for (const char* name : {"weight", "bias"}) tensors.push_back({norm + name, {outputs}});
    if (options.norm != EncoderNorm::kBatch) continue;
    for (const char* name : {"running_mean", "running_variance"}) tensors.push_back({norm + name, {outputs}});
  }
  return tensors;
}

void QuantiseKernels(std::span<const float> weights, std::size_t inputs, std::span<std::int8_t> words) {
  constexpr std::size_t kTaps = Convolution3x3::kTaps;
  const float limit =
      static_cast<float>(std::min<std::size_t>(127, (std::size_t{1} << 24) / (255 * kTaps * inputs)));
  std::ranges::transform(weights, words.begin(), [limit](float weight) {
    const float word = std::nearbyint(weight / kKernelUnit);
    // Not clamp: a weight of a training that diverged is no number, and must become one.
    return static_cast<std::int8_t>(word >= -limit ? std::min(word, limit) : -limit);
  });
}

EncoderPass::EncoderPass(const EncoderOptions& options, std::size_t batch)
    : input(options.input_channels, {batch, options.side}), stages(options.channels.size()) {
  const std::vector<std::size_t> sides = Sides(options);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::size_t channels = options.channels[i];
    stages[i].raw = Planes(channels, {batch, sides[i]});
    stages[i].pooled = Planes(channels, {batch, sides[i + 1]});
    stages[i].peak = Planes(channels, {batch, sides[i + 1]});
    const std::size_t lanes = stages[i].raw.shape().lanes();
    stages[i].factor.resize(channels * lanes);
    stages[i].term.resize(channels * lanes);
    for (std::size_t c = 0; c < channels; ++c) {
      std::fill_n(stages[i].factor.begin() + static_cast<std::ptrdiff_t>(c * lanes), batch, 1.0f);
    }
    stages[i].mean.resize(channels);
    stages[i].variance.resize(channels);
    stages[i].inverse.resize(channels * batch);
  }
}

std::uint64_t EncoderPassBytes(const EncoderOptions& options, std::uint64_t batch) {
  const std::vector<std::size_t> sides = Sides(options);
  std::uint64_t bytes = PlanesBytes(options.input_channels, {batch, options.side});
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::uint64_t channels = options.channels[i];
    const PlaneShape raw = {batch, sides[i]};
    bytes += PlanesBytes(channels, raw) + 2 * PlanesBytes(channels, {batch, sides[i + 1]});
    bytes += sizeof(float) * channels * (2 * raw.lanes() + 2 + batch);
  }
  return bytes;
}

std::uint64_t EncoderBytes(const EncoderOptions& options, std::uint64_t batch) {
  const std::vector<std::size_t> sides = Sides(options);
  constexpr std::uint64_t kLaneVectors = 9;
  std::uint64_t bytes = sizeof(float) * kLaneVectors * PlaneShape{batch, options.side}.lanes();
  std::uint64_t largest_kernel = 0, all_kernels = 0;
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::size_t inputs = Inputs(options, i), outputs = options.channels[i];
    const PlaneShape shape = {batch, sides[i]};
    bytes += Convolution3x3::Bytes(inputs);
    if (i > 0) bytes += Winograd3x3::Bytes(inputs, outputs, shape);
    bytes += PlanesBytes(i == 0 ? Convolution3x3::kGroup : outputs, shape);
    bytes += PlanesBytes(outputs, {batch, sides[i + 1]});
    const std::uint64_t kernel = inputs * outputs * Convolution3x3::kTaps;
    largest_kernel = std::max(largest_kernel, kernel);
    all_kernels += kernel;
  }
  return options.quantised ? bytes + all_kernels + sizeof(float) * largest_kernel : bytes;
}

Encoder::Encoder(const EncoderOptions& options, const ParameterLayout& layout, std::size_t batch)
    : options_(options), batch_(batch) {
  for (std::vector<float>* values :
       {&lanes_.sum, &lanes_.squares, &lanes_.magnitude, &lanes_.gradient_sum, &lanes_.gradient_product,
        &lanes_.direct, &lanes_.slope, &lanes_.sign, &lanes_.term}) {
    values->resize(PlaneShape{batch, options.side}.lanes());
  }
  if (options.activation == EncoderActivation::kHardClip) activation_.ceiling = kHardClipCeiling;
  const std::vector<std::size_t> sides = Sides(options);
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::string norm = fmt::format("encoder.norm{}.", i + 1);
    ranges_.push_back({layout.Range(fmt::format("encoder.conv{}.weight", i + 1)),
                       layout.Range(norm + "weight"), layout.Range(norm + "bias"),
                       layout.Range(norm + "running_mean"), layout.Range(norm + "running_variance")});
    convolutions_.emplace_back(Inputs(options, i), options.channels[i]);
    if (i > 0) winograds_.emplace_back(Inputs(options, i), options.channels[i], PlaneShape{batch, sides[i]});
    const std::size_t gradients = i == 0 ? Convolution3x3::kGroup : options.channels[i];
    raw_gradient_.emplace_back(gradients, PlaneShape{batch, sides[i]});
    pooled_gradient_.emplace_back(options.channels[i], PlaneShape{batch, sides[i + 1]});
    if (!options.quantised) continue;
    const std::size_t weights = ranges_.back().weight.size;
    kernels_.resize(kernels_.size() + weights);
    quantised_weights_.resize(std::max(quantised_weights_.size(), weights));
  }
}

std::span<const float> Encoder::Weights(std::span<const float> parameters, std::size_t stage) {
  if (!options_.quantised) return ranges_[stage].weight.Of(parameters);
  const std::span<const std::int8_t> words = Quantise(parameters, stage);
  std::ranges::transform(words, quantised_weights_.begin(),
                         [](std::int8_t word) { return word * kKernelUnit; });
  return std::span(quantised_weights_).first(words.size());
}

std::span<std::int8_t> Encoder::Quantise(std::span<const float> parameters, std::size_t stage) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < stage; ++i) first += ranges_[i].weight.size;
  const std::span<const float> weights = ranges_[stage].weight.Of(parameters);
  const std::span<std::int8_t> words = std::span(kernels_).subspan(first, weights.size());
  QuantiseKernels(weights, Inputs(options_, stage), words);
  return words;
}

bool Encoder::ComputeOnUnit(std::span<const float> parameters, std::span<const std::uint8_t> images) {
  if (unit_ == nullptr) return false;
  for (std::size_t i = 0; i < ranges_.size(); ++i) Quantise(parameters, i);
  return unit_->Compute(images, kernels_);
}

void Encoder::TakeFromUnit(std::size_t stage, Planes& raw) const {
  const std::span<const std::uint8_t> result = unit_->Result(stage);
  const PlaneShape& shape = raw.shape();
  const std::size_t side = shape.side, channels = raw.channels();
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < side * side; ++i) {
      float* pixel = raw.channel(c) + i / side * shape.pitch() + i % side * shape.lanes();
      for (std::size_t n = 0; n < batch_; ++n) {
        pixel[n] = static_cast<float>(result[(n * channels + c) * side * side + i]) * kPixelUnit;
      }
    }
  }
}

ImageSums Encoder::SumChannel(const Planes& raw, std::size_t channel) {
  const ImageSums sums{lanes_.sum.data(), lanes_.squares.data(), lanes_.magnitude.data()};
  SumImages(raw.channel(channel), raw.shape(), sums);
  return sums;
}

// The same for every image.
void Encoder::SetNorm(EncoderPass::Stage& s, std::size_t channel, float factor, float term) const {
  const auto first = static_cast<std::ptrdiff_t>(channel * s.raw.shape().lanes());
  std::fill_n(s.factor.begin() + first, batch_, factor);
  std::fill_n(s.term.begin() + first, batch_, term);
}

void Encoder::NormByBatch(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                          EncoderPass::Stage& s) {
  const ImageSums sums = SumChannel(s.raw, channel);
  const double sum = std::accumulate(sums.sum, sums.sum + batch_, 0.0);
  const double squares = std::accumulate(sums.squares, sums.squares + batch_, 0.0);
  const std::size_t side = s.raw.shape().side;
  const double count = static_cast<double>(batch_ * side * side);
  const double mean = sum / count;
  const double variance = std::max(squares / count - mean * mean, 0.0);
  const double inverse = 1.0 / std::sqrt(variance + kEncoderNormEpsilon);
  const double factor = ranges_[stage].scale.Of(parameters)[channel] * inverse;
  const double term = ranges_[stage].shift.Of(parameters)[channel] - factor * mean;
  s.mean[channel] = static_cast<float>(mean);
  s.variance[channel] = static_cast<float>(variance * count / (count - 1));
  s.inverse[channel] = static_cast<float>(inverse);
  SetNorm(s, channel, static_cast<float>(factor), static_cast<float>(term));
}

void Encoder::NormByStatistics(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                               EncoderPass::Stage& s) const {
  const StageRanges& range = ranges_[stage];
  const float variance = std::max(range.variance.Of(parameters)[channel], 0.0f);
  const float factor = range.scale.Of(parameters)[channel] / std::sqrt(variance + kEncoderNormEpsilon);
  const float term = range.shift.Of(parameters)[channel] - factor * range.mean.Of(parameters)[channel];
  SetNorm(s, channel, factor, term);
}

void Encoder::NormByResponse(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                             EncoderPass::Stage& s) {
  const PlaneShape& shape = s.raw.shape();
  const float area = static_cast<float>(shape.side * shape.side);
  const ImageSums sums = SumChannel(s.raw, channel);
  for (std::size_t n = 0; n < batch_; ++n) {
    const float inverse = 1.0f / (sums.magnitude[n] / area + kEncoderNormEpsilon);
    s.inverse[channel * batch_ + n] = inverse;
    s.factor[channel * shape.lanes() + n] = ranges_[stage].scale.Of(parameters)[channel] * inverse;
    s.term[channel * shape.lanes() + n] = ranges_[stage].shift.Of(parameters)[channel];
  }
}

void Encoder::Forward(EncoderStatistics statistics, std::span<const float> parameters,
                      std::span<const std::uint8_t> images, EncoderPass& pass, std::span<float> features) {
  const PlaneShape& input = pass.input.shape();
  const std::size_t size = options_.image().size();
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t plane = options_.image().plane();
    const std::size_t row = i % plane / input.side, column = i % plane % input.side;
    float* pixel = pass.input.channel(i / plane) + row * input.pitch() + column * input.lanes();
    for (std::size_t n = 0; n < batch_; ++n) {
      pixel[n] = static_cast<float>(images[n * size + i]) * kPixelUnit;
    }
  }
  const bool by_batch = statistics == EncoderStatistics::kBatch;
  const bool by_unit = ComputeOnUnit(parameters, images);
  const Planes* x = &pass.input;
  for (std::size_t i = 0; i < pass.stages.size(); ++i) {
    EncoderPass::Stage& s = pass.stages[i];
    const std::span<const float> weights = by_unit ? std::span<const float>() : Weights(parameters, i);
    const bool direct = !by_unit && (i == 0 || options_.quantised);
    if (by_unit) {
      TakeFromUnit(i, s.raw);
    } else if (!direct) {
      winograds_[i - 1].Forward(weights, *x, s.raw);
    }
    for (std::size_t c = 0; c < s.raw.channels(); ++c) {
      if (direct && c % Convolution3x3::kGroup == 0) convolutions_[i].Forward(weights, *x, c, s.raw);
      if (direct && options_.quantised) {
        RoundAndClip(s.raw.channel(c), s.raw.shape(), kPixelUnit, kHardClipCeiling);
      }
      if (options_.norm == EncoderNorm::kFilterResponse) NormByResponse(parameters, i, c, s);
      if (options_.norm == EncoderNorm::kBatch && by_batch) NormByBatch(parameters, i, c, s);
      if (options_.norm == EncoderNorm::kBatch && !by_batch) NormByStatistics(parameters, i, c, s);
      ActivatePool(s.raw.channel(c), s.raw.shape(), s.Norm(c), activation_, s.pooled.channel(c),
                   s.peak.channel(c));
    }
    x = &s.pooled;
  }
  AreaMeans(*x, options_.grid, features);
}

void Encoder::MixStatistics(const EncoderPass& pass, float weight, std::span<float> parameters) const {
  if (options_.norm != EncoderNorm::kBatch) return;
  for (std::size_t i = 0; i < pass.stages.size(); ++i) {
    const std::span<float> mean = ranges_[i].mean.Of(parameters);
    const std::span<float> variance = ranges_[i].variance.Of(parameters);
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const float between = pass.stages[i].mean[c] - mean[c];
      const float within = pass.stages[i].variance[c] - variance[c];
      variance[c] += weight * (within + (1 - weight) * between * between);
      mean[c] += weight * between;
    }
  }
}

void Encoder::BackwardChannel(std::size_t stage, std::size_t channel, const EncoderPass::Stage& s,
                              std::span<float> gradient, float* raw_gradient) {
  const PlaneShape& shape = s.raw.shape();
  const float* pooled_gradient = pooled_gradient_[stage].channel(channel);
  const NormCoefficients norm = s.Norm(channel);
  const bool by_response = options_.norm == EncoderNorm::kFilterResponse;
  const double area = static_cast<double>(shape.side * shape.side);

  std::fill_n(lanes_.direct.begin(), batch_, 1.0f);
  if (options_.norm != EncoderNorm::kNone) {
    const PoolGradientSums sums{lanes_.gradient_sum.data(), lanes_.gradient_product.data()};
    SumPoolGradient(s.peak.channel(channel), s.peak.shape(), norm, activation_, pooled_gradient, sums);
    double sum = 0, product = 0;  // of dy, of dy · normed x
    for (std::size_t n = 0; n < batch_; ++n) {
      sum += sums.sum[n];
      product +=
          by_response ? double{sums.product[n]} * s.inverse[channel * batch_ + n] : double{sums.product[n]};
    }
    std::copy_n(norm.factor, batch_, lanes_.direct.begin());
    if (by_response) {
      for (std::size_t n = 0; n < batch_; ++n) {
        const double inverse = s.inverse[channel * batch_ + n];
        lanes_.sign[n] = static_cast<float>(-norm.factor[n] * inverse * sums.product[n] / area);
      }
    } else {
      const double inverse = s.inverse[channel];
      product = inverse * (product - s.mean[channel] * sum);
      const double count = area * static_cast<double>(batch_);
      const double slope = -norm.factor[0] * inverse * product / count;
      const double term = -norm.factor[0] * sum / count - slope * s.mean[channel];
      std::fill_n(lanes_.slope.begin(), batch_, static_cast<float>(slope));
      std::fill_n(lanes_.term.begin(), batch_, static_cast<float>(term));
    }
    ranges_[stage].scale.Of(gradient)[channel] += static_cast<float>(product);
    ranges_[stage].shift.Of(gradient)[channel] += static_cast<float>(sum);
  }
  ActivatePoolGradient(
      s.raw.channel(channel), shape, norm, activation_, s.peak.channel(channel), pooled_gradient,
      {lanes_.direct.data(), lanes_.slope.data(), lanes_.sign.data(), lanes_.term.data()}, raw_gradient);
}

// For the first stage's outputs from `first` on, whose gradients are in the buffer.
void Encoder::AddFirstGradient(const Planes& x, std::size_t first, std::span<float> weight_gradient) {
  const std::size_t weights = options_.input_channels * Convolution3x3::kTaps;
  const std::size_t outputs = std::min(raw_gradient_[0].channels(), options_.channels[0] - first);
  const std::span<float> group = weight_gradient.subspan(first * weights, outputs * weights);
  if (unit_ != nullptr && unit_->AddWeightGradient(0, x, raw_gradient_[0], group)) return;
  convolutions_[0].BackwardWeights(x, raw_gradient_[0], first, weight_gradient);
}

// For weights and inputs of a later stage.
void Encoder::AddGradient(std::span<const float> parameters, std::size_t stage, const Planes& x,
                          std::span<float> weight_gradient) {
  const Planes& y_gradient = raw_gradient_[stage];
  Planes& x_gradient = pooled_gradient_[stage - 1];
  Winograd3x3& winograd = winograds_[stage - 1];
  if (unit_ == nullptr || !unit_->AddWeightGradient(stage, x, y_gradient, weight_gradient)) {
    winograd.BackwardWeights(x, y_gradient, weight_gradient);
  }
  const std::span<const float> weights = Weights(parameters, stage);
  if (unit_ == nullptr || !unit_->ComputeInputGradient(stage, weights, y_gradient, x_gradient)) {
    winograd.BackwardInput(weights, y_gradient, x_gradient);
  }
}

void Encoder::Backward(std::span<const float> parameters, const EncoderPass& pass,
                       std::span<const float> feature_gradient, std::span<float> gradient) {
  AreaMeansGradient(feature_gradient, options_.grid, pooled_gradient_.back());
  for (std::size_t i = pass.stages.size(); i-- > 0;) {
    const EncoderPass::Stage& s = pass.stages[i];
    const std::span<float> weight_gradient = ranges_[i].weight.Of(gradient);
    const std::size_t channels = s.raw.channels(), group = raw_gradient_[i].channels();
    for (std::size_t c = 0; c < channels; ++c) {
      BackwardChannel(i, c, s, gradient, raw_gradient_[i].channel(c % group));
      const bool last = (c + 1) % group == 0 || c + 1 == channels;
      if (i == 0 && last) AddFirstGradient(pass.input, c / group * group, weight_gradient);
    }
    if (i > 0) AddGradient(parameters, i, pass.stages[i - 1].pooled, weight_gradient);
  }
}

}  // namespace tributary::nn
