// A bounded buffer of the most novel images of a stream (SOFed): a board cannot keep all images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::images {

struct KeptImage {
  std::uint32_t index = 0;  // in the set that the stream draws from
  double novelty = 0;

  friend bool operator==(const KeptImage&, const KeptImage&) = default;
};

// When full, a more novel image replaces the least novel one; a less novel image is dropped. Both are
// counted. The caller defines novelty, e.g. 1 − cosine between the projections of two views. One thread at a
// time; allocates nothing after the constructor.
class ImageBuffer {
 public:
  ImageBuffer(std::size_t capacity, std::size_t image_size);

  // False if the image was dropped: not novel enough, of another size, or its novelty not finite.
  bool Offer(std::uint32_t index, std::span<const std::uint8_t> image, double novelty);

  // Updates the score of a kept image: it changes as the encoder learns.
  void Rescore(std::size_t place, double novelty) { kept_[place].novelty = novelty; }

  void Clear() { kept_.clear(); }

  std::size_t size() const { return kept_.size(); }
  std::size_t capacity() const { return capacity_; }
  std::span<const std::uint8_t> image(std::size_t place) const {
    return std::span(pixels_).subspan(place * image_size_, image_size_);
  }
  std::span<const KeptImage> kept() const { return kept_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t replaced() const { return replaced_; }

 private:
  std::size_t capacity_;
  std::size_t image_size_;
  std::vector<std::uint8_t> pixels_;
  std::vector<KeptImage> kept_;
  std::uint64_t dropped_ = 0;
  std::uint64_t replaced_ = 0;
};

}  // namespace tributary::images
