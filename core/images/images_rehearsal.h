// A stream that comes back to what was most novel in it: half of each batch is new, half from a bounded
// buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/images/images_buffer.h"
#include "core/images/images_stream.h"

namespace tributary::images {

// What a board that cannot keep everything learns from (SOFed; [SSL]): an image is seen once and stays
// only as long as the buffer finds it among its most novel. Unlike ImageStream it depends on its history:
// batches in order, each scored before the next. Owns the buffer, keeps a reference to the stream. One thread
// at a time; allocates nothing after the constructor.
class ImageRehearsal {
 public:
  // `stream` gives half a batch at a time; capacity at least as many images.
  ImageRehearsal(ImageStream& stream, std::size_t half_batch, std::size_t image_size, std::size_t capacity,
                 std::uint64_t seed);

  // Batch number `index`, [2 · half_batch × image_size], valid until the next call. The very first shows its
  // new images twice.
  std::span<const std::uint8_t> Batch(std::uint64_t index);

  // Novelty of the images of the last batch, in order: the new ones are offered, the kept ones scored anew.
  void Score(std::span<const float> novelty);

  // What the next batch depends on besides stream, seed and number.
  const ImageBuffer& buffer() const { return buffer_; }
  // The buffer becomes what buffer().kept() said. Errors, without effect: InvalidArgument for more images
  // than fit, one that the stream's set lacks, or a novelty that is not finite.
  absl::Status Restore(std::span<const KeptImage> kept);

 private:
  ImageStream& stream_;
  std::size_t half_batch_;
  std::size_t image_size_;
  std::uint64_t seed_;
  ImageBuffer buffer_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::size_t>
      picks_;  // places in the buffer of the batch's second half; empty for the first batch
};

}  // namespace tributary::images
