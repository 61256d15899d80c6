#include "core/nn/optimise/cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace tributary::nn {
namespace {

// The derivative of a sample's −ln p(class) with respect to 1 / temperature: the mean of the logits under the
// probabilities, minus the logit of the class.
double InverseTemperatureSlope(std::span<const float> logits, std::size_t true_class, double inverse) {
  const double highest = *std::ranges::max_element(logits);
  double total = 0, sum = 0;
  for (const float logit : logits) {
    const double share = std::exp(inverse * (logit - highest));
    total += share;
    sum += share * (logit - highest);
  }
  return sum / total - (logits[true_class] - highest);
}

}  // namespace

void LogSoftmax(std::span<const float> logits, double temperature, std::span<float> log_probabilities) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp((logit - highest) / temperature);
  const double log_sum = std::log(sum);
  for (std::size_t k = 0; k < logits.size(); ++k) {
    log_probabilities[k] = static_cast<float>((logits[k] - highest) / temperature - log_sum);
  }
}

double CrossEntropy(std::span<const float> logits, std::size_t stride, std::span<const std::uint8_t> classes,
                    float weight, std::span<float> gradient) {
  const std::size_t outputs = logits.size() / stride;
  std::ranges::fill(gradient, 0.0f);
  double loss = 0;
  for (std::size_t n = 0; n < classes.size(); ++n) {
    float highest = logits[n];
    for (std::size_t k = 1; k < outputs; ++k) highest = std::max(highest, logits[k * stride + n]);
    float sum = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      const float share = std::exp(logits[k * stride + n] - highest);
      gradient[k * stride + n] = share;
      sum += share;
    }
    for (std::size_t k = 0; k < outputs; ++k) gradient[k * stride + n] *= weight / sum;
    const std::size_t at = classes[n] * stride + n;
    gradient[at] -= weight;
    loss += std::log(sum) - (logits[at] - highest);
  }
  return loss;
}

double FitTemperature(std::span<const float> logits, std::span<const std::uint8_t> classes) {
  const std::size_t outputs = logits.size() / classes.size();
  // The loss is convex in the inverse of the temperature: its slope has one zero.
  double low = 0.01, high = 100;
  while (high / low > 1 + 1e-6) {
    const double inverse = std::sqrt(low * high);
    double slope = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      slope += InverseTemperatureSlope(logits.subspan(i * outputs, outputs), classes[i], inverse);
    }
    (slope < 0 ? low : high) = inverse;
  }
  return 1 / std::sqrt(low * high);
}

}  // namespace tributary::nn
