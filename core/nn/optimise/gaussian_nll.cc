#include "core/nn/optimise/gaussian_nll.h"

#include <cmath>
#include <numbers>

namespace tributary::nn {

double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

GaussianPosition GaussianHead(std::span<const double, kGaussianOutputs> outputs) {
  return {{outputs[0], outputs[1]},
          {Softplus(outputs[2]) + kDiagonalFloor, outputs[3], Softplus(outputs[4]) + kDiagonalFloor}};
}

// With r = target - mean and z = L^-1 r: loss = ln l11 + ln l22 + |z|²/2 + ln 2π. With w = L^-T z, d loss / d
// mean = -w and d loss / d L = L^-T - w zᵀ on the lower triangle.
double GaussianNll(std::span<const double, kGaussianOutputs> outputs, std::span<const double, 2> target,
                   std::span<double, kGaussianOutputs> gradient) {
  const GaussianPosition position = GaussianHead(outputs);
  const auto [l11, l21, l22] = position.cholesky;
  const double z1 = (target[0] - position.mean[0]) / l11;
  const double z2 = (target[1] - position.mean[1] - l21 * z1) / l22;
  const double w2 = z2 / l22;
  const double w1 = (z1 - l21 * w2) / l11;

  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };  // the derivative of softplus
  gradient[0] = -w1;
  gradient[1] = -w2;
  gradient[2] = (1.0 / l11 - w1 * z1) * sigmoid(outputs[2]);
  gradient[3] = -w2 * z1;
  gradient[4] = (1.0 / l22 - w2 * z2) * sigmoid(outputs[4]);
  return std::log(l11) + std::log(l22) + 0.5 * (z1 * z1 + z2 * z2) + std::log(2 * std::numbers::pi);
}

double GaussianNllBatch(std::span<const float> outputs, std::span<const float> targets,
                        std::span<float> gradient) {
  const std::size_t batch = targets.size() / 2;
  const double weight = 1.0 / static_cast<double>(batch);
  double loss = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    std::array<double, kGaussianOutputs> output;
    std::array<double, kGaussianOutputs> slope;
    for (std::size_t k = 0; k < kGaussianOutputs; ++k) output[k] = outputs[k * batch + i];
    const std::array<double, 2> target = {targets[2 * i], targets[2 * i + 1]};
    loss += GaussianNll(output, target, slope);
    for (std::size_t k = 0; k < kGaussianOutputs; ++k) {
      gradient[k * batch + i] = static_cast<float>(slope[k] * weight);
    }
  }
  return loss * weight;
}

}  // namespace tributary::nn
