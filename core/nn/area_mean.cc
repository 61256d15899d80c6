#include "core/nn/area_mean.h"

namespace tributary {
namespace {

// Calls visit(feature index within the channel, first pixel of a row, row's length, 1 / pixels of the area).
template <class Visit>
void ForEachRow(const PlaneShape& shape, std::size_t grid, Visit visit) {
  const auto edge = [&](std::size_t g) { return shape.side * g / grid; };
  for (std::size_t gy = 0; gy < grid; ++gy) {
    for (std::size_t gx = 0; gx < grid; ++gx) {
      const std::size_t width = edge(gx + 1) - edge(gx);
      const float weight = 1.0f / static_cast<float>(width * (edge(gy + 1) - edge(gy)));
      for (std::size_t y = edge(gy); y < edge(gy + 1); ++y) {
        visit(gy * grid + gx, y * shape.pitch() + edge(gx), width, weight);
      }
    }
  }
}

}  // namespace

void AreaMeans(const Planes& x, std::size_t grid, std::span<float> features) {
  const PlaneShape& shape = x.shape();
  for (std::size_t c = 0; c < x.channels(); ++c) {
    for (std::size_t n = 0; n < shape.images; ++n) {
      const float* image = x.channel(c) + n * shape.image_size();
      float* out = features.data() + c * grid * grid * shape.images + n;
      for (std::size_t g = 0; g < grid * grid; ++g) out[g * shape.images] = 0;
      ForEachRow(shape, grid, [&](std::size_t g, std::size_t at, std::size_t width, float weight) {
        float sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += image[at + i];
        out[g * shape.images] += weight * sum;
      });
    }
  }
}

void AreaMeansGradient(std::span<const float> feature_gradient, std::size_t grid, Planes& x_gradient) {
  const PlaneShape& shape = x_gradient.shape();
  for (std::size_t c = 0; c < x_gradient.channels(); ++c) {
    for (std::size_t n = 0; n < shape.images; ++n) {
      float* image = x_gradient.channel(c) + n * shape.image_size();
      const float* gradient = feature_gradient.data() + c * grid * grid * shape.images + n;
      ForEachRow(shape, grid, [&](std::size_t g, std::size_t at, std::size_t width, float weight) {
        for (std::size_t i = 0; i < width; ++i) image[at + i] = weight * gradient[g * shape.images];
      });
    }
  }
}

}  // namespace tributary
