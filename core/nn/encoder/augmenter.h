// Two random views of each image, for self-supervised learning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::nn {

// One thread at a time.
class Augmenter {
 public:
  virtual ~Augmenter() = default;

  // Writes a view of each image [count × side × side] into `views` of the same size. Equal keys give equal
  // views, so that an interrupted training run resumes exactly; different keys give independent ones.
  virtual void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                         std::span<std::uint8_t> views) = 0;
};

}  // namespace tributary::nn
