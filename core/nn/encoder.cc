#include "core/nn/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nn/area_mean.h"
#include "core/nn/quantised_weights.h"

namespace tributary {
namespace {

std::vector<std::size_t> Sides(const EncoderOptions& options) {
  std::vector<std::size_t> sides = {options.side};
  for (std::size_t i = 0; i < options.channels.size(); ++i) sides.push_back(sides.back() / 2);
  return sides;
}

std::size_t Inputs(const EncoderOptions& options, std::size_t stage) {
  return stage == 0 ? 1 : options.channels[stage - 1];
}

}  // namespace

std::vector<TensorShape> EncoderTensors(const EncoderOptions& options) {
  std::vector<TensorShape> tensors;
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

EncoderPass::EncoderPass(const EncoderOptions& options, std::size_t batch)
    : input(1, {batch, options.side}), stages(options.channels.size()) {
  const std::vector<std::size_t> sides = Sides(options);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::size_t channels = options.channels[i];
    stages[i].raw = Planes(channels, {batch, sides[i]});
    stages[i].pooled = Planes(channels, {batch, sides[i + 1]});
    stages[i].norm.resize(channels * batch);
    stages[i].mean.resize(channels);
    stages[i].variance.resize(channels);
    stages[i].inverse.resize(channels * batch);
  }
}

Encoder::Encoder(const EncoderOptions& options, const ParameterLayout& layout, std::size_t batch)
    : options_(options), batch_(batch), sums_(batch) {
  if (options.activation == EncoderActivation::kHardClip) activation_.ceiling = kHardClipCeiling;
  if (options.quantised) activation_.step = kPixelUnit;
  const std::vector<std::size_t> sides = Sides(options);
  for (std::size_t i = 0; i < options.channels.size(); ++i) {
    const std::string norm = fmt::format("encoder.norm{}.", i + 1);
    ranges_.push_back({layout.Range(fmt::format("encoder.conv{}.weight", i + 1)),
                       layout.Range(norm + "weight"), layout.Range(norm + "bias"),
                       layout.Range(norm + "running_mean"), layout.Range(norm + "running_variance")});
    convolutions_.emplace_back(Inputs(options, i), options.channels[i]);
    raw_gradient_.emplace_back(options.channels[i], PlaneShape{batch, sides[i]});
    pooled_gradient_.emplace_back(options.channels[i], PlaneShape{batch, sides[i + 1]});
    quantised_weights_.resize(std::max(quantised_weights_.size(), ranges_.back().weight.size));
  }
}

std::span<const float> Encoder::Weights(std::span<const float> parameters, std::size_t stage) {
  const std::span<const float> weights = ranges_[stage].weight.Of(parameters);
  if (!options_.quantised) return weights;
  const std::span<float> quantised = std::span(quantised_weights_).first(weights.size());
  QuantiseKernels(weights, Inputs(options_, stage), quantised);
  return quantised;
}

void Encoder::NormByBatch(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                          EncoderPass::Stage& s) const {
  const PlaneShape& shape = s.raw.shape();
  double sum = 0, squares = 0;
  for (std::size_t n = 0; n < batch_; ++n) {
    const ImageSums image = SumImage(s.raw.channel(channel) + n * shape.image_size(), shape.image_size());
    sum += image.sum;
    squares += image.squares;
  }
  const double count = static_cast<double>(batch_ * shape.side * shape.side);
  const double mean = sum / count;
  const double variance = std::max(squares / count - mean * mean, 0.0);
  const double inverse = 1.0 / std::sqrt(variance + kEncoderNormEpsilon);
  const double factor = ranges_[stage].scale.Of(parameters)[channel] * inverse;
  const double term = ranges_[stage].shift.Of(parameters)[channel] - factor * mean;
  s.mean[channel] = static_cast<float>(mean);
  s.variance[channel] = static_cast<float>(variance * count / (count - 1));
  s.inverse[channel] = static_cast<float>(inverse);
  std::fill_n(s.norm.begin() + static_cast<std::ptrdiff_t>(channel * batch_), batch_,
              NormCoefficients{static_cast<float>(factor), static_cast<float>(term)});
}

void Encoder::NormByStatistics(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                               EncoderPass::Stage& s) const {
  const StageRanges& range = ranges_[stage];
  const float variance = std::max(range.variance.Of(parameters)[channel], 0.0f);
  const float factor = range.scale.Of(parameters)[channel] / std::sqrt(variance + kEncoderNormEpsilon);
  const float term = range.shift.Of(parameters)[channel] - factor * range.mean.Of(parameters)[channel];
  std::fill_n(s.norm.begin() + static_cast<std::ptrdiff_t>(channel * batch_), batch_,
              NormCoefficients{factor, term});
}

void Encoder::NormByResponse(std::span<const float> parameters, std::size_t stage, std::size_t channel,
                             EncoderPass::Stage& s) const {
  const PlaneShape& shape = s.raw.shape();
  const float area = static_cast<float>(shape.side * shape.side);
  for (std::size_t n = 0; n < batch_; ++n) {
    const ImageSums image = SumImage(s.raw.channel(channel) + n * shape.image_size(), shape.image_size());
    const float inverse = 1.0f / (image.magnitude / area + kEncoderNormEpsilon);
    s.inverse[channel * batch_ + n] = inverse;
    s.norm[channel * batch_ + n] = {ranges_[stage].scale.Of(parameters)[channel] * inverse,
                                    ranges_[stage].shift.Of(parameters)[channel]};
  }
}

void Encoder::Forward(std::span<const float> parameters, std::span<const std::uint8_t> images,
                      EncoderPass& pass, std::span<float> features, bool train) {
  const std::size_t side = options_.side;
  for (std::size_t n = 0; n < batch_; ++n) {
    for (std::size_t y = 0; y < side; ++y) {
      float* row =
          pass.input.channel(0) + n * pass.input.shape().image_size() + y * pass.input.shape().pitch();
      const std::uint8_t* pixels = images.data() + (n * side + y) * side;
      for (std::size_t x = 0; x < side; ++x) row[x] = static_cast<float>(pixels[x]) * kPixelUnit;
    }
  }
  const Planes* x = &pass.input;
  for (std::size_t i = 0; i < pass.stages.size(); ++i) {
    EncoderPass::Stage& s = pass.stages[i];
    convolutions_[i].Forward(Weights(parameters, i), *x, s.raw);
    for (std::size_t c = 0; c < s.raw.channels(); ++c) {
      if (options_.norm == EncoderNorm::kFilterResponse) NormByResponse(parameters, i, c, s);
      if (options_.norm == EncoderNorm::kBatch && train) NormByBatch(parameters, i, c, s);
      if (options_.norm == EncoderNorm::kBatch && !train) NormByStatistics(parameters, i, c, s);
      for (std::size_t n = 0; n < batch_; ++n) {
        ActivatePool(s.raw.channel(c) + n * s.raw.shape().image_size(), s.raw.shape().side,
                     s.norm[c * batch_ + n], activation_,
                     s.pooled.channel(c) + n * s.pooled.shape().image_size());
      }
    }
    x = &s.pooled;
  }
  AreaMeans(*x, options_.grid, features);
}

void Encoder::TrainForward(std::span<const float> parameters, std::span<const std::uint8_t> images,
                           EncoderPass& pass, std::span<float> features) {
  Forward(parameters, images, pass, features, /*train=*/true);
}

void Encoder::Infer(std::span<const float> parameters, std::span<const std::uint8_t> images,
                    EncoderPass& pass, std::span<float> features) {
  Forward(parameters, images, pass, features, /*train=*/false);
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
                              std::span<float> gradient) {
  const PlaneShape& shape = s.raw.shape();
  const std::size_t pooled_size = s.pooled.shape().image_size();
  const auto raw = [&](std::size_t n) { return s.raw.channel(channel) + n * shape.image_size(); };
  const auto pooled_gradient = [&](std::size_t n) {
    return pooled_gradient_[stage].channel(channel) + n * pooled_size;
  };
  const NormCoefficients* norm = s.norm.data() + channel * batch_;
  const bool by_batch = options_.norm == EncoderNorm::kBatch;
  const bool by_response = options_.norm == EncoderNorm::kFilterResponse;
  const double area = static_cast<double>(shape.side * shape.side);

  NormGradientCoefficients shared;
  if (options_.norm != EncoderNorm::kNone) {
    double sum = 0, product = 0;  // of dy, of dy · normed x
    for (std::size_t n = 0; n < batch_; ++n) {
      sums_[n] = SumPoolGradient(raw(n), shape.side, norm[n], activation_, pooled_gradient(n));
      sum += sums_[n].sum;
      product += by_response ? static_cast<double>(sums_[n].product) * s.inverse[channel * batch_ + n]
                             : static_cast<double>(sums_[n].product);
    }
    if (by_batch) {
      const double inverse = s.inverse[channel];
      product = inverse * (product - s.mean[channel] * sum);
      const double count = area * static_cast<double>(batch_);
      const double slope = -norm[0].factor * inverse * product / count;
      shared = {norm[0].factor, static_cast<float>(slope), 0,
                static_cast<float>(-norm[0].factor * sum / count - slope * s.mean[channel])};
    }
    ranges_[stage].scale.Of(gradient)[channel] += static_cast<float>(product);
    ranges_[stage].shift.Of(gradient)[channel] += static_cast<float>(sum);
  }
  for (std::size_t n = 0; n < batch_; ++n) {
    NormGradientCoefficients coefficients = shared;
    if (by_response) {
      const double inverse = s.inverse[channel * batch_ + n];
      coefficients.direct = norm[n].factor;
      coefficients.sign = static_cast<float>(-norm[n].factor * inverse * sums_[n].product / area);
    }
    ActivatePoolGradient(raw(n), shape.side, norm[n], activation_, pooled_gradient(n), coefficients,
                         raw_gradient_[stage].channel(channel) + n * shape.image_size());
  }
}

void Encoder::Backward(std::span<const float> parameters, const EncoderPass& pass,
                       std::span<const float> feature_gradient, std::span<float> gradient) {
  AreaMeansGradient(feature_gradient, options_.grid, pooled_gradient_.back());
  for (std::size_t i = pass.stages.size(); i-- > 0;) {
    const EncoderPass::Stage& s = pass.stages[i];
    for (std::size_t c = 0; c < s.raw.channels(); ++c) BackwardChannel(i, c, s, gradient);
    const Planes& x = i == 0 ? pass.input : pass.stages[i - 1].pooled;
    convolutions_[i].BackwardWeights(x, raw_gradient_[i], ranges_[i].weight.Of(gradient));
    if (i > 0) {
      convolutions_[i].BackwardInput(Weights(parameters, i), raw_gradient_[i], pooled_gradient_[i - 1]);
    }
  }
}

}  // namespace tributary
