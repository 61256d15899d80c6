#include "core/nn/planes.h"

#include <algorithm>

namespace tributary {

Planes::Planes(std::size_t channels, PlaneShape shape)
    : channels_(channels),
      shape_(shape),
      values_(hwy::AllocateAligned<float>(channels * shape.stride())),
      mask_(hwy::AllocateAligned<float>(shape.size() + PlaneShape::kSlack)) {
  std::fill_n(values_.get(), channels * shape.stride(), 0.0f);
  std::fill_n(mask_.get(), shape.size() + PlaneShape::kSlack, 0.0f);
  for (std::size_t n = 0; n < shape.images; ++n) {
    for (std::size_t y = 0; y < shape.side; ++y) {
      std::fill_n(mask_.get() + n * shape.image_size() + y * shape.pitch(), shape.side, 1.0f);
    }
  }
}

}  // namespace tributary
