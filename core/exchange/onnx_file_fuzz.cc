// Any bytes as an ONNX file: summed up as JSON, or refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/exchange/onnx_file.h"
#include "core/wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto summary = tributary::exchange::SummariseOnnx({reinterpret_cast<const char*>(bytes), size});
  if (summary.ok() && !nlohmann::json::accept(tributary::wire::DumpJson(*summary))) std::abort();
  return 0;
}
