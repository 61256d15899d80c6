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

ImageRehearsal::ImageRehearsal(ImageStream& stream, std::size_t capacity, std::uint64_t seed)
    : stream_(stream), capacity_(capacity), seed_(seed) {
  const std::size_t half_batch = stream.indices().size();
  kept_.reserve(capacity);
  pixels_.reserve(2 * half_batch * stream.set().image_size());
  picks_.reserve(half_batch);
}

std::span<const std::uint8_t> ImageRehearsal::Batch(std::uint64_t index) {
  const std::span<const std::uint8_t> fresh = stream_.Batch(index);
  pixels_.assign(fresh.begin(), fresh.end());
  picks_.clear();
  if (kept_.empty()) {
    pixels_.insert(pixels_.end(), fresh.begin(), fresh.end());
    return pixels_;
  }
  nn::RandomStream random = nn::RandomStream::Of(seed_, index);
  for (std::size_t n = 0; n < stream_.indices().size(); ++n) {
    picks_.push_back(random.Below(kept_.size()));
    const auto image = stream_.set().image(kept_[picks_.back()].index);
    pixels_.insert(pixels_.end(), image.begin(), image.end());
  }
  return pixels_;
}

void ImageRehearsal::Offer(const KeptImage& image) {
  const auto least = std::ranges::min_element(kept_, {}, &KeptImage::novelty);
  const bool full = kept_.size() == capacity_;
  if (!std::isfinite(image.novelty) || (full && image.novelty <= least->novelty)) {
    ++dropped_;
  } else if (full) {
    *least = image;
  } else {
    kept_.push_back(image);
  }
}

void ImageRehearsal::Score(std::span<const float> novelty) {
  const std::span<const std::uint32_t> fresh = stream_.indices();
  // Score the kept images before new ones are offered: a new image may replace one that was picked.
  for (std::size_t n = 0; n < picks_.size(); ++n) kept_[picks_[n]].novelty = novelty[fresh.size() + n];
  for (std::size_t n = 0; n < fresh.size(); ++n) Offer({fresh[n], novelty[n]});
}

absl::Status ImageRehearsal::Restore(std::span<const KeptImage> kept) {
  if (kept.size() > capacity_) {
    return absl::InvalidArgumentError(
        fmt::format("{} images were kept, the buffer holds {}", kept.size(), capacity_));
  }
  const std::size_t count = stream_.set().count();
  for (const KeptImage& each : kept) {
    if (each.index >= count || !std::isfinite(each.novelty)) {
      return absl::InvalidArgumentError(
          fmt::format("image {} of {} was kept with a novelty of {}", each.index, count, each.novelty));
    }
  }
  kept_.assign(kept.begin(), kept.end());
  picks_.clear();
  return absl::OkStatus();
}

}  // namespace tributary::images
