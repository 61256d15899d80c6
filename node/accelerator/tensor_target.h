// The tensor unit as a target of quantised layers.
#pragma once

#include <string>

#include "core/graph/quantised/section_runner.h"
#include "fpga/model/tensor_program.h"

namespace tributary::accelerator {

// Programs of the tensor unit, executed by its golden model on the processor: the bits and the cycles of the
// unit, without its speed.
class TensorModelTarget : public graph::SectionTarget {
 public:
  explicit TensorModelTarget(const fpga::TensorUnitSize& size) : size_(size) {}

  std::string_view name() const override { return "tensor unit (model)"; }
  std::uint64_t products_per_cycle() const override { return std::uint64_t{size_.lanes} * size_.lanes; }
  std::string WhyNot(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input,
                     const graph::QuantisedTensor& output) const override;
  absl::StatusOr<std::unique_ptr<graph::SectionRunner>> Prepare(graph::QuantisedSection section,
                                                                std::uint64_t memory_bytes) const override;

 private:
  fpga::TensorUnitSize size_;
};

}  // namespace tributary::accelerator
