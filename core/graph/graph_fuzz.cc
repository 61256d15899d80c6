// Any bytes as an ONNX file: refused, or planned and run within the memory that is allowed.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::graph;
  const auto session = Session::Load({reinterpret_cast<const char*>(bytes), size}, {.memory_bytes = 1 << 20});
  if (!session.ok()) return 0;
  std::vector<Array> arrays;
  std::size_t given = 0;
  for (const PortReport& input : (*session)->inputs()) {
    given += input.spec.bytes();
    if (given > 1 << 20) return 0;
    arrays.emplace_back(input.spec);
  }
  std::vector<View> views;
  for (const Array& array : arrays) views.push_back(array.view());
  (void)(*session)->nodes();
  (void)(*session)->Run(views);
  return 0;
}
