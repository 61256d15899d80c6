// Whatever decodes also encodes, to the same values.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/parameters/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = tributary::parameters::DecodeNpy({reinterpret_cast<const char*>(data), size});
  if (!array.ok()) return 0;
  const auto again =
      tributary::parameters::DecodeNpy(tributary::parameters::EncodeNpy(array->shape, array->values));
  if (!again.ok() || again->shape != array->shape || again->values.size() != array->values.size())
    std::abort();
  const std::size_t bytes = array->values.size() * sizeof(float);
  if (bytes > 0 && std::memcmp(again->values.data(), array->values.data(), bytes) != 0) std::abort();
  return 0;
}
