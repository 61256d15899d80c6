// Activations of square images, channel by channel, with zeros between them, so that a 3×3 convolution is
// nine shifted sums without a case for the border.
#pragma once

#include <cstddef>
#include <span>

#include "hwy/aligned_allocator.h"

namespace tributary {

// Each image takes (side + 1)² floats: one column of zeros ends each row and one row of zeros each image,
// which serve as the next row's and the next image's border as well. Before the first image lies a margin of
// zeros.
struct PlaneShape {
  std::size_t images = 0;
  std::size_t side = 0;

  constexpr std::size_t pitch() const { return side + 1; }
  constexpr std::size_t image_size() const { return pitch() * pitch(); }
  constexpr std::size_t size() const { return images * image_size(); }
  // Vectors may be read and written up to kSlack elements behind the last one.
  static constexpr std::size_t kSlack = 64;
  constexpr std::size_t margin() const { return RoundUp(pitch() + 1); }
  constexpr std::size_t stride() const { return margin() + RoundUp(size() + kSlack) + margin(); }

 private:
  static constexpr std::size_t RoundUp(std::size_t n) { return (n + 15) / 16 * 16; }
};

// Owns [channels] planes of that shape, all zero at first. Whoever writes keeps the zeros between the images.
class Planes {
 public:
  Planes() = default;
  Planes(std::size_t channels, PlaneShape shape);

  std::size_t channels() const { return channels_; }
  const PlaneShape& shape() const { return shape_; }

  // The first pixel of the first image; row y, column x of image n follows at n · image_size + y · pitch + x.
  float* channel(std::size_t c) { return values_.get() + c * shape_.stride() + shape_.margin(); }
  const float* channel(std::size_t c) const { return values_.get() + c * shape_.stride() + shape_.margin(); }

  // size() + kSlack factors: 1 for pixels, 0 for what lies between them.
  const float* mask() const { return mask_.get(); }

 private:
  std::size_t channels_ = 0;
  PlaneShape shape_;
  hwy::AlignedFreeUniquePtr<float[]> values_;
  hwy::AlignedFreeUniquePtr<float[]> mask_;
};

}  // namespace tributary
