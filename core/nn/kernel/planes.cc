#include "core/nn/kernel/planes.h"

#include <algorithm>

namespace tributary::nn {

namespace {

// Calls visit(area, offset of a pixel in it, 1 / pixels of the area).
template <class Visit>
void ForEachPixel(const PlaneShape& shape, std::size_t grid, Visit visit) {
  const auto edge = [&](std::size_t g) { return shape.side * g / grid; };
  for (std::size_t gy = 0; gy < grid; ++gy) {
    for (std::size_t gx = 0; gx < grid; ++gx) {
      const std::size_t pixels = (edge(gx + 1) - edge(gx)) * (edge(gy + 1) - edge(gy));
      for (std::size_t y = edge(gy); y < edge(gy + 1); ++y) {
        for (std::size_t x = edge(gx); x < edge(gx + 1); ++x) {
          visit(gy * grid + gx, y * shape.pitch() + x * shape.lanes(), 1.0f / static_cast<float>(pixels));
        }
      }
    }
  }
}

}  // namespace

Planes::Planes(std::size_t channels, PlaneShape shape)
    : channels_(channels), shape_(shape), values_(AllocateFloats(channels * shape.stride())) {}

void AreaMeans(const Planes& x, std::size_t grid, std::span<float> features) {
  const std::size_t images = x.shape().images;
  std::ranges::fill(features, 0.0f);
  for (std::size_t c = 0; c < x.channels(); ++c) {
    float* out = features.data() + c * grid * grid * images;
    ForEachPixel(x.shape(), grid, [&](std::size_t area, std::size_t at, float weight) {
      const float* pixel = x.channel(c) + at;
      for (std::size_t n = 0; n < images; ++n) out[area * images + n] += weight * pixel[n];
    });
  }
}

void AreaMeansGradient(std::span<const float> feature_gradient, std::size_t grid, Planes& x_gradient) {
  const std::size_t images = x_gradient.shape().images;
  for (std::size_t c = 0; c < x_gradient.channels(); ++c) {
    const float* gradient = feature_gradient.data() + c * grid * grid * images;
    ForEachPixel(x_gradient.shape(), grid, [&](std::size_t area, std::size_t at, float weight) {
      float* pixel = x_gradient.channel(c) + at;
      for (std::size_t n = 0; n < images; ++n) pixel[n] = weight * gradient[area * images + n];
    });
  }
}

}  // namespace tributary::nn
