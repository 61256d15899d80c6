// Images for benches: noise, extremes and shapes, from fixed seeds.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "fpga/model/augmentation.h"

namespace tributary::fpga {

inline Image BenchImage(std::mt19937& random) {
  Image image;
  const unsigned kind = random() % 8;
  for (std::size_t i = 0; i < kImagePixels; ++i) {
    const std::uint32_t noise = random();
    if (kind == 0)
      image[i] = 255;
    else if (kind == 1)
      image[i] = noise % 2 == 0 ? 0 : 255;
    else if (kind == 2)
      image[i] = noise % 16 == 0 ? 255 : 0;
    else
      image[i] = static_cast<std::uint8_t>(noise);
  }
  return image;
}

inline std::vector<Image> BenchImages(std::mt19937& random, std::size_t count) {
  std::vector<Image> images(count);
  for (Image& image : images) image = BenchImage(random);
  return images;
}

inline Kernel BenchKernel(std::mt19937& random) {
  Kernel kernel;
  const unsigned kind = random() % 4;
  for (std::int16_t& tap : kernel) {
    const int value = static_cast<int>(random() % 4096) - 2048;
    if (kind == 0)
      tap = static_cast<std::int16_t>(value);
    else if (kind == 1)
      tap = random() % 2 == 0 ? -2048 : 2047;
    else
      tap = static_cast<std::int16_t>(value / 16);  // results between the clips
  }
  return kernel;
}

template <std::size_t count>
std::array<Kernel, count> BenchKernels(std::mt19937& random) {
  std::array<Kernel, count> kernels;
  for (Kernel& kernel : kernels) kernel = BenchKernel(random);
  return kernels;
}

}  // namespace tributary::fpga
