#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/nn/encoder/encoder_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto file = tributary::nn::DecodeEncoder({reinterpret_cast<const char*>(bytes), size});
  (void)file;
  return 0;
}
