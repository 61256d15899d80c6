#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/nn/encoder/classifier_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto file = tributary::nn::DecodeClassifier({reinterpret_cast<const char*>(bytes), size});
  (void)file;
  return 0;
}
