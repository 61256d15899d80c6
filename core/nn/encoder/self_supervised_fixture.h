// The losses of SimSiam, BYOL and SimCLR in double and simple loops: the reference for this folder's
// gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/nn/encoder/encoder.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/kernel/batch_norm.h"
#include "core/nn/kernel/parameter_layout.h"

namespace tributary::nn {

class SelfSupervisedReference {
 public:
  using Values = std::vector<double>;
  using Pixels = std::span<const std::uint8_t>;

  SelfSupervisedReference(const SelfSupervisedOptions& options, const ParameterLayout& layout)
      : options_(options), layout_(layout), batch_(options.batch) {}

  // The projections [features × batch] of views, as a target: they get no gradient.
  Values Project(const Values& parameters, Pixels views) const {
    const Values features = Encode(parameters, views);
    return Head(parameters, "projector", features, options_.head_norm);
  }

  // SimSiam, BYOL: ½ D(p1, t2) + ½ D(p2, t1) with D = −cosine. SimCLR: 2 T times the cross entropy, without
  // targets.
  double Loss(const Values& parameters, Pixels views1, Pixels views2, const Values& target1,
              const Values& target2) const {
    if (!options_.predicts()) return Contrast(Project(parameters, views1), Project(parameters, views2));
    return 0.5 * Distance(Predict(parameters, views1), target2) +
           0.5 * Distance(Predict(parameters, views2), target1);
  }

 private:
  // [channels][image][pixel], one behind the other.
  struct Maps {
    std::size_t channels, side;
    Values values;
    double& at(std::size_t c, std::size_t n, std::size_t i, std::size_t batch) {
      return values[(c * batch + n) * side * side + i];
    }
  };

  std::span<const double> Tensor(const Values& parameters, const std::string& name) const {
    return layout_.Range(name).Of(std::span<const double>(parameters));
  }

  Values Predict(const Values& parameters, Pixels views) const {
    return Head(parameters, "predictor", Project(parameters, views), false);
  }

  Maps Convolve(Maps& x, std::span<const double> weights, std::size_t outputs) const {
    Maps y{outputs, x.side, Values(outputs * batch_ * x.side * x.side, 0.0)};
    const auto side = static_cast<std::ptrdiff_t>(x.side);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t c = 0; c < x.channels; ++c) {
        for (std::size_t n = 0; n < batch_; ++n) {
          for (std::ptrdiff_t i = 0; i < side * side; ++i) {
            for (std::ptrdiff_t tap = 0; tap < 9; ++tap) {
              const std::ptrdiff_t row = i / side + tap / 3 - 1, column = i % side + tap % 3 - 1;
              if (row < 0 || row >= side || column < 0 || column >= side) continue;
              y.at(o, n, static_cast<std::size_t>(i), batch_) +=
                  weights[(o * x.channels + c) * 9 + static_cast<std::size_t>(tap)] *
                  x.at(c, n, static_cast<std::size_t>(row * side + column), batch_);
            }
          }
        }
      }
    }
    return y;
  }

  // (x − mean) / deviation · scale + shift over a range.
  static void NormBatch(std::span<double> values, double scale, double shift, double epsilon) {
    double mean = 0, variance = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values)
      variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
    for (double& value : values) value = (value - mean) / std::sqrt(variance + epsilon) * scale + shift;
  }

  static void NormResponse(std::span<double> image, double scale, double shift) {
    double magnitude = 0;
    for (const double value : image) magnitude += std::abs(value) / static_cast<double>(image.size());
    for (double& value : image) value = value / (magnitude + kEncoderNormEpsilon) * scale + shift;
  }

  void Norm(const Values& parameters, const std::string& name, Maps& x) const {
    const auto scale = Tensor(parameters, name + ".weight"), shift = Tensor(parameters, name + ".bias");
    const std::size_t area = x.side * x.side;
    for (std::size_t c = 0; c < x.channels; ++c) {
      const std::span<double> channel = std::span(x.values).subspan(c * batch_ * area, batch_ * area);
      if (options_.encoder.norm == EncoderNorm::kBatch)
        NormBatch(channel, scale[c], shift[c], kEncoderNormEpsilon);
      if (options_.encoder.norm != EncoderNorm::kFilterResponse) continue;
      for (std::size_t n = 0; n < batch_; ++n)
        NormResponse(channel.subspan(n * area, area), scale[c], shift[c]);
    }
  }

  Maps ActivateAndPool(Maps& x) const {
    const bool clips = options_.encoder.activation == EncoderActivation::kHardClip;
    const double ceiling = clips ? double{kHardClipCeiling} : std::numeric_limits<double>::infinity();
    Maps y{x.channels, x.side / 2, Values(x.channels * batch_ * (x.side / 2) * (x.side / 2))};
    for (std::size_t c = 0; c < y.channels; ++c) {
      for (std::size_t n = 0; n < batch_; ++n) {
        for (std::size_t i = 0; i < y.side * y.side; ++i) {
          const std::size_t corner = i / y.side * 2 * x.side + i % y.side * 2;
          const double top = std::max(x.at(c, n, corner, batch_), x.at(c, n, corner + 1, batch_));
          const double bottom =
              std::max(x.at(c, n, corner + x.side, batch_), x.at(c, n, corner + x.side + 1, batch_));
          y.at(c, n, i, batch_) = std::clamp(std::max(top, bottom), 0.0, ceiling);
        }
      }
    }
    return y;
  }

  Values AreaMeans(Maps& x) const {
    const std::size_t grid = options_.encoder.grid;
    const auto edge = [&](std::size_t g) { return x.side * g / grid; };
    Values features;
    for (std::size_t c = 0; c < x.channels; ++c) {
      for (std::size_t g = 0; g < grid * grid; ++g) {
        for (std::size_t n = 0; n < batch_; ++n) {
          double sum = 0, count = 0;
          for (std::size_t row = edge(g / grid); row < edge(g / grid + 1); ++row) {
            for (std::size_t column = edge(g % grid); column < edge(g % grid + 1); ++column, ++count) {
              sum += x.at(c, n, row * x.side + column, batch_);
            }
          }
          features.push_back(sum / count);
        }
      }
    }
    return features;
  }

  Values Encode(const Values& parameters, Pixels views) const {
    const ImageShape image = options_.encoder.image();
    Maps x{image.channels, image.side, Values(views.size())};
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::size_t channel = i % image.size() / image.plane();
      x.at(channel, i / image.size(), i % image.plane(), batch_) = views[i] / 256.0;
    }
    for (std::size_t i = 0; i < options_.encoder.channels.size(); ++i) {
      const std::string stage = std::to_string(i + 1);
      x = Convolve(x, Tensor(parameters, "encoder.conv" + stage + ".weight"), options_.encoder.channels[i]);
      Norm(parameters, "encoder.norm" + stage, x);
      x = ActivateAndPool(x);
    }
    return AreaMeans(x);
  }

  Values Dense(std::span<const double> weights, const Values& x) const {
    const std::size_t inputs = x.size() / batch_;
    Values y(weights.size() / inputs * batch_, 0.0);
    for (std::size_t w = 0; w < weights.size(); ++w) {
      for (std::size_t n = 0; n < batch_; ++n) {
        y[w / inputs * batch_ + n] += weights[w] * x[w % inputs * batch_ + n];
      }
    }
    return y;
  }

  void NormRows(const Values& parameters, const std::string& name, Values& x) const {
    for (std::size_t f = 0; f * batch_ < x.size(); ++f) {
      NormBatch(std::span(x).subspan(f * batch_, batch_), Tensor(parameters, name + ".weight")[f],
                Tensor(parameters, name + ".bias")[f], BatchNorm::kEpsilon);
    }
  }

  Values Head(const Values& parameters, const std::string& name, const Values& input,
              bool output_norm) const {
    Values hidden = Dense(Tensor(parameters, name + ".linear1.weight"), input);
    if (options_.head_norm) NormRows(parameters, name + ".norm1", hidden);
    for (double& value : hidden) value = std::max(value, 0.0);
    Values output = Dense(Tensor(parameters, name + ".linear2.weight"), hidden);
    if (output_norm) NormRows(parameters, name + ".norm2", output);
    return output;
  }

  double Contrast(const Values& z1, const Values& z2) const {
    const std::size_t views = 2 * batch_, width = z1.size() / batch_;
    const auto value = [&](std::size_t view, std::size_t f) {
      return view < batch_ ? z1[f * batch_ + view] : z2[f * batch_ + view - batch_];
    };
    const auto product = [&](std::size_t i, std::size_t j) {
      double sum = 0;
      for (std::size_t f = 0; f < width; ++f) sum += value(i, f) * value(j, f);
      return sum;
    };
    const double t = options_.temperature;
    double loss = 0;
    for (std::size_t i = 0; i < views; ++i) {
      const auto weight = [&](std::size_t j) {
        return std::exp(product(i, j) / std::sqrt(product(i, i) * product(j, j)) / t);
      };
      double total = 0;
      for (std::size_t j = 0; j < views; ++j) total += i == j ? 0 : weight(j);
      loss -= 2 * t * std::log(weight((i + batch_) % views) / total) / static_cast<double>(views);
    }
    return loss;
  }

  double Distance(const Values& p, const Values& target) const {
    double total = 0;
    for (std::size_t n = 0; n < batch_; ++n) {
      double product = 0, p_squares = 0, target_squares = 0;
      for (std::size_t i = n; i < p.size(); i += batch_) {
        product += p[i] * target[i];
        p_squares += p[i] * p[i];
        target_squares += target[i] * target[i];
      }
      if (p_squares > 0 && target_squares > 0) total -= product / std::sqrt(p_squares * target_squares);
    }
    return total / static_cast<double>(batch_);
  }

  SelfSupervisedOptions options_;
  const ParameterLayout& layout_;
  std::size_t batch_;
};

}  // namespace tributary::nn
