// Whatever decodes also encodes, to a file with the same contents.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto set = tributary::parameters::DecodeSafetensors({reinterpret_cast<const char*>(data), size});
  if (!set.ok()) return 0;
  const auto again = tributary::parameters::DecodeSafetensors(tributary::parameters::EncodeSafetensors(*set));
  if (!again.ok() || again->metadata != set->metadata) std::abort();
  if (tributary::parameters::ParameterIdentity(*again) != tributary::parameters::ParameterIdentity(*set))
    std::abort();
  return 0;
}
