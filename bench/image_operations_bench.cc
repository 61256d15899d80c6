// The operations of [SSL], table 7.1, on this processor: the golden model's, one thread, 28×28 grey images.
//
// usage: image_operations_bench --serve: for each line "OPERATION n" on standard input the microseconds per
// image over n images, so that tensor_tables.py can alternate with its baseline. OPERATION: blur, rotation,
// crop, convolution.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "core/nn/kernel/random_stream.h"
#include "fpga/model/augmentation.h"

namespace tributary {
namespace {

constexpr fpga::Kernel kEdges = {-128, 0, 128, -256, 0, 256, -128, 0, 128};

using Operation = std::function<std::uint8_t(const fpga::Image&, int)>;

// Each gives a pixel of its result, so that the result is needed.
const std::map<std::string, Operation> kOperations = {
    {"blur", [](const fpga::Image& image, int) { return fpga::Blur(image)[400]; }},
    {"rotation", [](const fpga::Image& image,
                    int i) { return fpga::Rotate(image, static_cast<std::size_t>(i % 4))[400]; }},
    {"crop", [](const fpga::Image& image,
                int i) { return fpga::CropAndResize(image, static_cast<std::size_t>(i % 4))[400]; }},
    {"convolution", [](const fpga::Image& image,
                       int) { return fpga::Convolve(image, fpga::kImageSide, kEdges, 7, false)[400]; }},
};

double MicrosecondsOf(const Operation& operation, int images) {
  nn::RandomStream random(1);
  fpga::Image image;
  for (std::uint8_t& pixel : image) pixel = static_cast<std::uint8_t>(random.Below(256));
  unsigned sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < images; ++i) {
    image[static_cast<std::size_t>(i) % fpga::kImagePixels] ^= 1;
    sum += operation(image, i);
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  if (sum == 1) std::cerr << "\n";
  return took.count() / images;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) != "--serve") {
    std::fputs("usage: image_operations_bench --serve\n", stderr);
    return 64;
  }
  std::string name;
  for (int images; std::cin >> name >> images;) {
    const auto operation = tributary::kOperations.find(name);
    if (operation == tributary::kOperations.end()) return 64;
    std::cout << tributary::MicrosecondsOf(operation->second, std::max(images, 1)) << std::endl;
  }
  return 0;
}
