// A stream that repeats its most novel images: half of each batch is new, half comes from a bounded buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/images/images_buffer.h"
#include "core/images/images_stream.h"

namespace tributary::images {

// The images of a board that cannot keep everything (SOFed; [SSL]). An image comes once from the stream and
// stays only while it is among the most novel in the buffer. Unlike ImageStream, this class depends on its
// history: take batches in order and score each before the next. Owns the buffer, keeps a reference to the
// stream. One thread at a time; allocates nothing after the constructor.
class ImageRehearsal {
 public:
  // `stream` gives half a batch at a time; `capacity` is at least half a batch.
  ImageRehearsal(ImageStream& stream, std::size_t half_batch, std::size_t image_size, std::size_t capacity,
                 std::uint64_t seed);

  // Batch number `index`, [2 · half_batch × image_size], valid until the next call. The first batch shows its
  // new images twice.
  std::span<const std::uint8_t> Batch(std::uint64_t index);

  // Takes the novelty of the last batch's images, in order: offers the new ones and updates the kept ones.
  void Score(std::span<const float> novelty);

  // The state that the next batch depends on, besides stream, seed and number.
  const ImageBuffer& buffer() const { return buffer_; }
  // Restores what buffer().kept() returned. Errors, without effect: InvalidArgument for more images than fit,
  // one that the stream's set lacks, or a novelty that is not finite.
  absl::Status Restore(std::span<const KeptImage> kept);

 private:
  ImageStream& stream_;
  std::size_t half_batch_;
  std::size_t image_size_;
  std::uint64_t seed_;
  ImageBuffer buffer_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::size_t>
      picks_;  // places of the batch's second half in the buffer; empty for the first batch
};

}  // namespace tributary::images
