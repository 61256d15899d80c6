#include "core/images/images_buffer.h"

#include <algorithm>
#include <cmath>

namespace tributary::images {

ImageBuffer::ImageBuffer(std::size_t capacity, std::size_t image_size)
    : capacity_(capacity), image_size_(image_size), pixels_(capacity * image_size) {
  kept_.reserve(capacity);
}

bool ImageBuffer::Offer(std::uint32_t index, std::span<const std::uint8_t> image, double novelty) {
  std::size_t place = kept_.size();
  const auto least = std::ranges::min_element(kept_, {}, &KeptImage::novelty);
  const bool full = place == capacity_;
  if (image.size() != image_size_ || !std::isfinite(novelty) || capacity_ == 0 ||
      (full && novelty <= least->novelty)) {
    ++dropped_;
    return false;
  }
  if (full) {
    place = static_cast<std::size_t>(least - kept_.begin());
    kept_[place] = {index, novelty};
    ++replaced_;
  } else {
    kept_.push_back({index, novelty});
  }
  std::ranges::copy(image, pixels_.begin() + static_cast<std::ptrdiff_t>(place * image_size_));
  return true;
}

}  // namespace tributary::images
