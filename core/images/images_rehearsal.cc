#include "core/images/images_rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nn/kernel/random_stream.h"

namespace tributary::images {

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
