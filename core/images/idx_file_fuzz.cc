// Any bytes as an image file and as a label file; 1 MiB unpacked at most.
#include <cstddef>
#include <cstdint>

#include "core/images/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  if (const auto set = tributary::images::DecodeIdxImages(file, kMaxBytes); set.ok()) {
    if (set->count() * set->image_size() != set->pixels.size()) __builtin_trap();
  }
  (void)tributary::images::DecodeIdxLabels(file, kMaxBytes);
  return 0;
}
