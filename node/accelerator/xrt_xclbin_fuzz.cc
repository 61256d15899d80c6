#include <cstddef>
#include <cstdint>
#include <string_view>

#include "node/accelerator/xrt_xclbin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  (void)tributary::accelerator::ParseXclbin({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
