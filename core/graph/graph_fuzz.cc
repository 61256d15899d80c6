// Any bytes as an ONNX file: refused, or planned and run within the memory that is allowed; a small graph is
// quantised, and the result must be a graph.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/quantise/quantiser.h"
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
  std::int64_t products = 0;
  for (const NodeReport& node : (*session)->nodes()) products += node.products;
  (void)(*session)->Run(views);
  if (products == 0 || products > 100'000) return 0;
  std::map<std::string, Array> examples;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    examples.emplace((*session)->inputs()[i].name, std::move(arrays[i]));
  }
  const auto quantised = Quantise({reinterpret_cast<const char*>(bytes), size}, examples,
                                  {.memory_bytes = 1 << 20, .rule = RangeRule::kLeastSquares});
  if (quantised.ok() && !Session::Load(quantised->file, {.memory_bytes = 1 << 22}).ok()) std::abort();
  return 0;
}
