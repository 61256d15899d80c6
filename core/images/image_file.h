// One picture: PNG or JPEG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/kernel/image_shape.h"

namespace tributary::images {

// Limits for a picture as it is in its file; more is refused before it is unpacked.
inline constexpr std::size_t kMaxPictureSide = 16'384;
inline constexpr std::size_t kMaxPicturePixels = std::size_t{1} << 26;

struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // [height × width × 3]: red, green, blue; transparent is black
};

// Pure functions. Errors: DataLoss for bytes that are neither format, or that are damaged or cut off;
// ResourceExhausted for a picture beyond the limits.
absl::StatusOr<Picture> DecodePicture(std::string_view file);

// The square in the middle, scaled to `shape` by the mean of what each pixel covers. Grey is the luma of
// ITU-R BT.601. Writes shape.size() values.
void Fit(const Picture& picture, const nn::ImageShape& shape, std::uint8_t* image);

}  // namespace tributary::images
