// Activations of square images, channel by channel. The images of a batch lie side by side in each pixel, so
// a layer computes on vectors of images without shuffles or row ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/nn/kernel/aligned_floats.h"

namespace tributary::nn {

// A pixel takes lanes() floats: one for each image, and zeros up to a whole vector of every target. One pixel
// of zeros ends each row and one row of zeros each channel; they are also the border of the next one. A
// margin of zeros lies before and behind. So a 3×3 convolution is nine shifted sums without border cases.
struct PlaneShape {
  std::size_t images = 0;
  std::size_t side = 0;

  static constexpr std::size_t kVector = 16;  // floats of the longest vector
  constexpr std::size_t lanes() const { return (images + kVector - 1) / kVector * kVector; }
  constexpr std::size_t pitch() const { return (side + 1) * lanes(); }
  constexpr std::size_t size() const { return (side + 1) * pitch(); }
  constexpr std::size_t margin() const { return pitch() + lanes(); }
  constexpr std::size_t stride() const { return margin() + size() + margin(); }
};

// Bytes that Planes of that shape hold.
constexpr std::uint64_t PlanesBytes(std::uint64_t channels, const PlaneShape& shape) {
  return sizeof(float) * channels * shape.stride();
}

// Owns [channels] planes of that shape, all zero at first. Writers must keep the zeros.
class Planes {
 public:
  Planes() = default;
  Planes(std::size_t channels, PlaneShape shape);

  std::size_t channels() const { return channels_; }
  const PlaneShape& shape() const { return shape_; }

  // The first pixel; image n of row y, column x follows at y · pitch + x · lanes + n.
  float* channel(std::size_t c) { return values_.get() + c * shape_.stride() + shape_.margin(); }
  const float* channel(std::size_t c) const { return values_.get() + c * shape_.stride() + shape_.margin(); }

 private:
  std::size_t channels_ = 0;
  PlaneShape shape_;
  AlignedFloats values_;
};

// The last pooling: means of grid × grid areas of each channel, and their gradient.
// Feature-major [channels · grid · grid × images]; area g of n runs from side · g / n to side · (g + 1) / n,
// rounded down. grid is at most the side.
void AreaMeans(const Planes& x, std::size_t grid, std::span<float> features);

// Writes every pixel of x_gradient.
void AreaMeansGradient(std::span<const float> feature_gradient, std::size_t grid, Planes& x_gradient);

}  // namespace tributary::nn
