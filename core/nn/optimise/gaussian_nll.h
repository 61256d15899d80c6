// The head of a network with a two-dimensional Gaussian as its output, and its loss.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tributary::nn {

// Mean (m) and lower Cholesky factor l11, l21, l22 (m) of one position.
struct GaussianPosition {
  std::array<double, 2> mean;
  std::array<double, 3> cholesky;
};

// Added to the diagonal after the softplus ([LIS], section 3.2).
inline constexpr double kDiagonalFloor = 1e-5;

inline constexpr std::size_t kGaussianOutputs = 5;

// ln(1 + e^x) without overflow.
double Softplus(double x);

// Outputs x, y, raw l11, l21, raw l22 of a network: the diagonal is softplus(raw) + kDiagonalFloor.
GaussianPosition GaussianHead(std::span<const double, kGaussianOutputs> outputs);

// Negative log-likelihood of `target` (x, y; m), with its gradient with respect to the five outputs.
double GaussianNll(std::span<const double, kGaussianOutputs> outputs, std::span<const double, 2> target,
                   std::span<double, kGaussianOutputs> gradient);

// Mean over a batch. outputs and gradient are feature-major [5 × batch], targets [batch × 2]. The gradient is
// of the mean.
double GaussianNllBatch(std::span<const float> outputs, std::span<const float> targets,
                        std::span<float> gradient);

}  // namespace tributary::nn
