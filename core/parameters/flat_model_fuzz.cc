// Any bytes as a model of a run: its layout tells the size of its values, which are finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/parameters/flat_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::parameters;
  const auto model = DecodeFlatModel({reinterpret_cast<const char*>(bytes), size});
  if (!model.ok()) return 0;
  std::size_t elements = 0;
  for (const TensorShape& tensor : model->layout.tensors) elements += tensor.size();
  if (elements != model->values.size() || elements != model->layout.element_count) std::abort();
  for (const float value : model->values) {
    if (!std::isfinite(value)) std::abort();
  }
  for (const StatisticRange& range : FindStatistics(model->layout.tensors)) {
    if (range.first + range.count > elements) std::abort();
  }
  return 0;
}
