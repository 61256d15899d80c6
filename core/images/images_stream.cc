#include "core/images/images_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  random.Shuffle(order_);
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

ImageRehearsal::ImageRehearsal(ImageStream& stream, std::size_t half_batch, std::size_t image_size,
                               std::size_t capacity, std::uint64_t seed)
    : stream_(stream),
      half_batch_(half_batch),
      image_size_(image_size),
      seed_(seed),
      buffer_(capacity, image_size),
      pixels_(2 * half_batch * image_size) {
  picks_.reserve(half_batch);
}

std::span<const std::uint8_t> ImageRehearsal::Batch(std::uint64_t index) {
  const auto place = [&](std::size_t n, std::span<const std::uint8_t> image) {
    std::ranges::copy(image, pixels_.begin() + static_cast<std::ptrdiff_t>(n * image_size_));
  };
  const std::span<const std::uint8_t> fresh = stream_.Batch(index);
  place(0, fresh);
  picks_.clear();
  if (buffer_.size() == 0) {
    place(half_batch_, fresh);
    return pixels_;
  }
  nn::RandomStream random = nn::RandomStream::Of(seed_, index);
  for (std::size_t n = 0; n < half_batch_; ++n) {
    picks_.push_back(random.Below(buffer_.size()));
    place(half_batch_ + n, buffer_.image(picks_.back()));
  }
  return pixels_;
}

void ImageRehearsal::Score(std::span<const float> novelty) {
  // Score these before new images are offered: a new image may replace one that was picked.
  for (std::size_t n = 0; n < picks_.size(); ++n) buffer_.Rescore(picks_[n], novelty[half_batch_ + n]);
  for (std::size_t n = 0; n < half_batch_; ++n) {
    (void)buffer_.Offer(stream_.indices()[n], std::span(pixels_).subspan(n * image_size_, image_size_),
                        novelty[n]);
  }
}

absl::Status ImageRehearsal::Restore(std::span<const KeptImage> kept) {
  if (kept.size() > buffer_.capacity()) {
    return absl::InvalidArgumentError(
        fmt::format("{} images were kept, the buffer holds {}", kept.size(), buffer_.capacity()));
  }
  const ImageSet& set = stream_.set();
  for (const KeptImage& each : kept) {
    if (each.index >= set.count() || !std::isfinite(each.novelty)) {
      return absl::InvalidArgumentError(
          fmt::format("image {} of {} was kept with a novelty of {}", each.index, set.count(), each.novelty));
    }
  }
  buffer_.Clear();
  for (const KeptImage& each : kept) (void)buffer_.Offer(each.index, set.image(each.index), each.novelty);
  picks_.clear();
  return absl::OkStatus();
}

}  // namespace tributary::images
