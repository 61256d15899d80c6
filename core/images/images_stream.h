// An endless stream of image batches from a node's part of a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/images/image_set.h"

namespace tributary::images {

// Visits the whole part in a new order each time. Batch b depends only on set, part, seed and b, so a node
// that restarts resumes where it was. Keeps a reference to the set. One thread at a time.
class ImageStream {
 public:
  // `part`: indices into the set, at least one.
  ImageStream(const ImageSet& set, std::vector<std::uint32_t> part, std::size_t batch, std::uint64_t seed);

  // Batch number `index`, [batch × side × side], valid until the next call.
  std::span<const std::uint8_t> Batch(std::uint64_t index);

  // The places of the last batch's images in the set.
  std::span<const std::uint32_t> indices() const { return indices_; }

  std::size_t count() const { return part_.size(); }
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

}  // namespace tributary::images
