// The tensor unit's golden model as a target of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// Programs of the tensor unit, executed by its golden model on the processor: the bits and the cycles of the
// unit, without its speed.
class TensorModelTarget : public TensorTarget {
 public:
  // With `floats` the unit has that precision, too.
  explicit TensorModelTarget(const fpga::TensorUnitSize& size, FloatLayers floats = FloatLayers::kProcessor)
      : TensorTarget(With(size, floats), {.own_bytes = std::uint64_t{size.activations} * size.lanes},
                     floats) {}

  std::string_view name() const override { return "tensor unit (model)"; }

  absl::StatusOr<std::unique_ptr<TensorJob>> MakeJob(std::vector<std::uint64_t> program,
                                                     const fpga::TensorBuffers& buffers,
                                                     std::size_t runs) const override;

 protected:
  TensorModelTarget(const fpga::TensorUnitSize& size, FloatLayers floats, const Memory& memory)
      : TensorTarget(With(size, floats), memory, floats) {}
};

// Plans as a board with one unit of a kernel does: what runs there, and the memory that it takes.
class TensorBoardPlan final : public TensorModelTarget {
 public:
  explicit TensorBoardPlan(FloatLayers floats)
      : TensorModelTarget(fpga::TensorUnitSize(), floats, OfABoard(1)) {}
};

}  // namespace tributary::accelerator
