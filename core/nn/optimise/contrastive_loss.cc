#include "core/nn/optimise/contrastive_loss.h"

#include <algorithm>
#include <cmath>

namespace tributary::nn {
namespace {

// Below it a projection has no direction.
constexpr double kMinProjection = 1e-12;

}  // namespace

ContrastiveLoss::ContrastiveLoss(std::size_t width, std::size_t batch)
    : width_(width),
      batch_(batch),
      units_(2 * batch * width),
      unit_gradient_(2 * batch * width),
      norms_(2 * batch),
      pairs_(4 * batch * batch) {}

std::uint64_t ContrastiveLoss::Bytes(std::uint64_t width, std::uint64_t batch) {
  return Gemm::kBytes + sizeof(float) * (4 * batch * width + 4 * batch * batch) + sizeof(double) * 2 * batch;
}

void ContrastiveLoss::Normalise(std::span<const float> z, std::size_t first) {
  for (std::size_t n = 0; n < batch_; ++n) {
    double squares = 0;
    for (std::size_t f = 0; f < width_; ++f) squares += double{z[f * batch_ + n]} * z[f * batch_ + n];
    const double norm = std::sqrt(squares);
    norms_[first + n] = norm;
    const double inverse = norm > kMinProjection ? 1.0 / norm : 0.0;
    for (std::size_t f = 0; f < width_; ++f) {
      units_[(first + n) * width_ + f] = static_cast<float>(inverse * z[f * batch_ + n]);
    }
  }
}

// Turns the view's cosines into 2 · (softmax − one-hot) / views, and gives its part of the loss. A view is
// not compared with itself.
double ContrastiveLoss::SoftmaxRow(std::size_t view, double temperature) {
  const std::size_t views = 2 * batch_, other = (view + batch_) % views;
  const std::span<float> row = std::span(pairs_).subspan(view * views, views);
  const double positive = row[other];
  row[view] = -2;  // below every cosine
  const double top = *std::ranges::max_element(row);
  double total = 0;
  for (std::size_t i = 0; i < views; ++i) {
    const double weight = i == view ? 0.0 : std::exp((row[i] - top) / temperature);
    total += weight;
    row[i] = static_cast<float>(weight);
  }
  const double scale = 2.0 / static_cast<double>(views);
  for (float& value : row) value = static_cast<float>(scale * value / total);
  row[other] -= static_cast<float>(scale);
  return scale * (temperature * std::log(total) - (positive - top));
}

// The part of the gradient along the projection does not turn it.
void ContrastiveLoss::Project(std::size_t first, std::span<float> z_gradient) const {
  for (std::size_t n = 0; n < batch_; ++n) {
    const float* unit = units_.data() + (first + n) * width_;
    const float* gradient = unit_gradient_.data() + (first + n) * width_;
    double along = 0;
    for (std::size_t f = 0; f < width_; ++f) along += double{unit[f]} * gradient[f];
    const double inverse = norms_[first + n] > kMinProjection ? 1.0 / norms_[first + n] : 0.0;
    for (std::size_t f = 0; f < width_; ++f) {
      z_gradient[f * batch_ + n] = static_cast<float>(inverse * (gradient[f] - along * unit[f]));
    }
  }
}

double ContrastiveLoss::Compute(std::span<const float> z1, std::span<const float> z2, double temperature,
                                std::span<float> z1_gradient, std::span<float> z2_gradient) {
  const std::size_t views = 2 * batch_;
  Normalise(z1, 0);
  Normalise(z2, batch_);
  gemm_.Multiply(RowMajor(units_.data(), views, width_), Transposed(RowMajor(units_.data(), views, width_)),
                 pairs_.data());
  double loss = 0;
  for (std::size_t view = 0; view < views; ++view) loss += SoftmaxRow(view, temperature);
  // A cosine stands in the rows of both its views.
  for (std::size_t i = 0; i < views; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const float both = pairs_[i * views + j] + pairs_[j * views + i];
      pairs_[i * views + j] = pairs_[j * views + i] = both;
    }
  }
  gemm_.Multiply(RowMajor(pairs_.data(), views, views), RowMajor(units_.data(), views, width_),
                 unit_gradient_.data());
  Project(0, z1_gradient);
  Project(batch_, z2_gradient);
  return loss;
}

}  // namespace tributary::nn
