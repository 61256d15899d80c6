// Any bytes as a picture, and what was decoded as images of the smallest and a common shape.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/images/image_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto picture =
      tributary::images::DecodePicture(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!picture.ok()) return 0;
  if (picture->pixels.size() != picture->width * picture->height * 3) __builtin_trap();
  for (const tributary::nn::ImageShape shape : {tributary::nn::ImageShape{1, 1}, {28, 3}}) {
    std::vector<std::uint8_t> image(shape.size());
    tributary::images::Fit(*picture, shape, image.data());
  }
  return 0;
}
