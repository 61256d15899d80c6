// Endless streams of image batches from a node's part of a set, with or without a bounded buffer of the most
// novel images (SOFed): a board cannot keep all images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/images/image_set.h"

namespace tributary::images {

// Visits the whole part in a new order each time. Batch b depends only on set, part, seed and b, so a node
// that restarts resumes where it was. Keeps a reference to the set. One thread at a time.
class ImageStream {
 public:
  // `part`: indices into the set, at least one.
  ImageStream(const ImageSet& set, std::vector<std::uint32_t> part, std::size_t batch, std::uint64_t seed);

  // Batch number `index`, [batch × channels × side × side], valid until the next call.
  std::span<const std::uint8_t> Batch(std::uint64_t index);

  // The places of the last batch's images in the set.
  std::span<const std::uint32_t> indices() const { return indices_; }

  const ImageSet& set() const { return set_; }

 private:
  void Order(std::uint64_t pass);

  const ImageSet& set_;
  std::vector<std::uint32_t> part_;
  std::size_t batch_;
  std::uint64_t seed_;
  std::uint64_t ordered_pass_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> indices_;
  std::vector<std::uint8_t> pixels_;
};

struct KeptImage {
  std::uint32_t index = 0;  // in the set that the stream draws from
  double novelty = 0;

  friend bool operator==(const KeptImage&, const KeptImage&) = default;
};

// Repeats the most novel images: half of each batch is new, half comes from a bounded buffer ([SSL]). An
// image comes once from the stream and stays only while it is among the most novel. When the buffer is full,
// a more novel image replaces the least novel one; a less novel image, or one whose novelty is not finite, is
// dropped and counted. The caller defines novelty, e.g. 1 − cosine between the projections of two views.
// Unlike ImageStream, this class depends on its history: take batches in order and score each before the
// next. Keeps a reference to the stream. One thread at a time; allocates nothing after the constructor.
class ImageRehearsal {
 public:
  // `stream` gives half a batch at a time; `capacity` is at least half a batch.
  ImageRehearsal(ImageStream& stream, std::size_t capacity, std::uint64_t seed);

  // Batch number `index`, [2 · half a batch × channels × side × side], valid until the next call. The first
  // batch shows its new images twice.
  std::span<const std::uint8_t> Batch(std::uint64_t index);

  // Takes the novelty of the last batch's images, in order: offers the new ones and updates the kept ones.
  void Score(std::span<const float> novelty);

  // The state that the next batch depends on, besides stream, seed and number.
  std::span<const KeptImage> kept() const { return kept_; }
  std::uint64_t dropped() const { return dropped_; }
  // Restores what kept() returned. Errors, without effect: InvalidArgument for more images than fit, one that
  // the stream's set lacks, or a novelty that is not finite.
  absl::Status Restore(std::span<const KeptImage> kept);

 private:
  void Offer(const KeptImage& image);

  ImageStream& stream_;
  std::size_t capacity_;
  std::uint64_t seed_;
  std::vector<KeptImage> kept_;
  std::uint64_t dropped_ = 0;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::size_t> picks_;  // places in kept_ of the batch's second half; empty for the first batch
};

}  // namespace tributary::images
