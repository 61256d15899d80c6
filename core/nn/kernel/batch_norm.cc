#include "core/nn/kernel/batch_norm.h"

#include <cmath>

namespace tributary::nn {

BatchNorm::BatchNorm(std::size_t features, std::size_t max_batch, float momentum)
    : momentum_(momentum),
      mean_(features, 0.0f),
      variance_(features, 1.0f),
      inverse_deviation_(features),
      normalised_(features * max_batch) {}

void BatchNorm::TrainForward(std::span<const float> gamma, std::span<const float> beta, std::size_t batch,
                             float* values) {
  const double count = static_cast<double>(batch);
  for (std::size_t f = 0; f < features(); ++f) {
    float* row = values + f * batch;
    double sum = 0;
    for (std::size_t i = 0; i < batch; ++i) sum += row[i];
    const double mean = sum / count;
    double squares = 0;
    for (std::size_t i = 0; i < batch; ++i) squares += (row[i] - mean) * (row[i] - mean);
    const double variance = squares / count;

    const float inverse_deviation = static_cast<float>(1.0 / std::sqrt(variance + kEpsilon));
    const float centre = static_cast<float>(mean);
    float* normalised = normalised_.data() + f * batch;
    for (std::size_t i = 0; i < batch; ++i) {
      normalised[i] = (row[i] - centre) * inverse_deviation;
      row[i] = normalised[i] * gamma[f] + beta[f];
    }
    inverse_deviation_[f] = inverse_deviation;
    mean_[f] += momentum_ * (centre - mean_[f]);
    variance_[f] += momentum_ * (static_cast<float>(squares / (count - 1)) - variance_[f]);
  }
}

void BatchNorm::Backward(std::span<const float> gamma, std::size_t batch, float* gradient,
                         std::span<float> gamma_gradient, std::span<float> beta_gradient) const {
  for (std::size_t f = 0; f < features(); ++f) {
    float* row = gradient + f * batch;
    const float* normalised = normalised_.data() + f * batch;
    double sum = 0;
    double product = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      sum += row[i];
      product += static_cast<double>(row[i]) * normalised[i];
    }
    beta_gradient[f] = static_cast<float>(sum);
    gamma_gradient[f] = static_cast<float>(product);

    const float mean = static_cast<float>(sum / static_cast<double>(batch));
    const float slope = static_cast<float>(product / static_cast<double>(batch));
    const float factor = gamma[f] * inverse_deviation_[f];
    for (std::size_t i = 0; i < batch; ++i) row[i] = factor * (row[i] - mean - normalised[i] * slope);
  }
}

void BatchNorm::Fold(std::span<const float> gamma, std::span<const float> beta, std::span<float> scale,
                     std::span<float> shift) const {
  for (std::size_t f = 0; f < features(); ++f) {
    scale[f] = gamma[f] / std::sqrt(variance_[f] + kEpsilon);
    shift[f] = beta[f] - mean_[f] * scale[f];
  }
}

}  // namespace tributary::nn
