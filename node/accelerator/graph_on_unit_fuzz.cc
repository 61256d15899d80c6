// Any bytes as an ONNX file: refused, or planned for the tensor unit within the memory that is allowed, with
// its layers in floats on the processor or on the unit, and run by the golden model.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/graph/session.h"
#include "node/accelerator/tensor_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  using accelerator::FloatLayers;
  constexpr fpga::TensorUnitSize kUnit = {.lanes = 8, .activations = 1 << 10, .pixels = 64, .line = 64};
  for (const FloatLayers floats : {FloatLayers::kProcessor, FloatLayers::kBfloat16, FloatLayers::kFloat32}) {
    const accelerator::TensorModelTarget target(kUnit, floats);
    const auto session = graph::Session::Load({reinterpret_cast<const char*>(bytes), size},
                                              {.memory_bytes = 1 << 20, .accelerator = &target});
    if (!session.ok()) return 0;
    if ((*session)->memory_bytes() > 1 << 20) __builtin_trap();
    std::vector<graph::Array> arrays;
    std::size_t given = 0;
    for (const graph::PortReport& input : (*session)->inputs()) {
      given += input.spec.bytes();
      if (given > 1 << 20) return 0;
      arrays.emplace_back(input.spec);
    }
    std::int64_t products = 0;
    for (const graph::NodeReport& node : (*session)->nodes()) products += node.products;
    if (products > 100'000) return 0;
    std::vector<graph::View> views;
    for (const graph::Array& array : arrays) views.push_back(array.view());
    (void)(*session)->Run(views);
  }
  return 0;
}
