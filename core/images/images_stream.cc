#include "core/images/images_stream.h"

#include <algorithm>
#include <utility>

#include "core/nn/kernel/random_stream.h"

namespace tributary::images {

ImageStream::ImageStream(const ImageSet& set, std::vector<std::uint32_t> part, std::size_t batch,
                         std::uint64_t seed)
    : set_(set),
      part_(std::move(part)),
      batch_(batch),
      seed_(seed),
      indices_(batch),
      pixels_(batch * set.image_size()) {
  Order(0);
}

void ImageStream::Order(std::uint64_t pass) {
  order_ = part_;
  nn::RandomStream random = nn::RandomStream::Of(seed_, pass);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.Below(i)]);
  ordered_pass_ = pass;
}

std::span<const std::uint8_t> ImageStream::Batch(std::uint64_t index) {
  for (std::size_t n = 0; n < batch_; ++n) {
    const std::uint64_t position = index * batch_ + n;
    const std::uint64_t pass = position / part_.size();
    if (pass != ordered_pass_) Order(pass);
    indices_[n] = order_[position % part_.size()];
    const auto image = set_.image(indices_[n]);
    std::ranges::copy(image, pixels_.begin() + static_cast<std::ptrdiff_t>(n * set_.image_size()));
  }
  return pixels_;
}

}  // namespace tributary::images
