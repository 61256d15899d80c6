#include "core/nn/optimise/cosine_loss.h"

#include <cmath>

namespace tributary::nn {
namespace {

// Below it a vector has no direction.
constexpr double kMinNorm = 1e-12;

double Norm(std::span<const float> values, std::size_t batch, std::size_t sample) {
  double squares = 0;
  for (std::size_t i = sample; i < values.size(); i += batch) squares += double{values[i]} * values[i];
  return std::sqrt(squares);
}

}  // namespace

void Cosines(std::span<const float> p, std::span<const float> z, std::size_t batch,
             std::span<float> cosines) {
  for (std::size_t n = 0; n < batch; ++n) {
    const double norms = Norm(p, batch, n) * Norm(z, batch, n);
    double product = 0;
    for (std::size_t i = n; i < p.size(); i += batch) product += double{p[i]} * z[i];
    cosines[n] = norms > kMinNorm * kMinNorm ? static_cast<float>(product / norms) : 0.0f;
  }
}

double CosineLoss(std::span<const float> p, std::span<const float> z, std::size_t batch, float weight,
                  std::span<float> p_gradient) {
  double loss = 0;
  for (std::size_t n = 0; n < batch; ++n) {
    const double p_norm = Norm(p, batch, n), z_norm = Norm(z, batch, n);
    const bool directed = p_norm > kMinNorm && z_norm > kMinNorm;
    double cosine = 0;
    if (directed) {
      for (std::size_t i = n; i < p.size(); i += batch) cosine += double{p[i]} * z[i];
      cosine /= p_norm * z_norm;
    }
    loss -= cosine / static_cast<double>(batch);
    // d(−cos)/dp = (cos · p/|p| − z/|z|) / |p|
    const double scale = directed ? weight / (p_norm * static_cast<double>(batch)) : 0.0;
    for (std::size_t i = n; i < p.size(); i += batch) {
      p_gradient[i] = directed ? static_cast<float>(scale * (cosine * p[i] / p_norm - z[i] / z_norm)) : 0.0f;
    }
  }
  return loss;
}

double Spread(std::span<const float> z, std::size_t batch, std::span<double> norms) {
  const std::size_t features = z.size() / batch;
  const double count = static_cast<double>(batch);
  double total = 0;
  for (std::size_t n = 0; n < batch; ++n) norms[n] = Norm(z, batch, n);
  for (std::size_t f = 0; f < features; ++f) {
    double sum = 0, squares = 0;
    for (std::size_t n = 0; n < batch; ++n) {
      const double unit = norms[n] > kMinNorm ? z[f * batch + n] / norms[n] : 0.0;
      sum += unit;
      squares += unit * unit;
    }
    total += std::sqrt(std::max(squares / count - sum * sum / (count * count), 0.0));
  }
  return total / static_cast<double>(features) * std::sqrt(static_cast<double>(features));
}

}  // namespace tributary::nn
