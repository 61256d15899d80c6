// The tensor unit of a board as a target of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/accelerator/accelerator.h"
#include "node/accelerator/create.h"
#include "node/accelerator/tensor_section.h"
#include "node/accelerator/xrt_units.h"

namespace tributary::accelerator {

// Programs of tensor_kernel or tensor_kernel_bfloat. Any number of them share the opened board and its units:
// each is a job of XrtUnits, and its runs go to the units in turn. One thread for all jobs, except for
// counters().
class XrtTensorTarget final : public TensorTarget {
 public:
  // Units of the first of these kernels that the xclbin has, which have what options.float_layers asks for.
  // Errors: those of XrtUnits::Open.
  static absl::StatusOr<std::unique_ptr<XrtTensorTarget>> Open(std::span<const std::string_view> kernels,
                                                               const XrtOptions& options);

  std::string_view name() const override { return "tensor unit (xrt)"; }
  std::string description() const { return units_->description(); }
  Accelerator::Counters counters() const override { return units_->counters(); }

  // Errors: those of XrtUnits::Add.
  absl::StatusOr<std::unique_ptr<TensorJob>> MakeJob(std::vector<std::uint64_t> program,
                                                     const fpga::TensorBuffers& buffers,
                                                     std::size_t runs) const override;

 private:
  XrtTensorTarget(std::unique_ptr<XrtUnits> units, const fpga::TensorUnitSize& size, FloatLayers floats);

  const std::unique_ptr<XrtUnits> units_;
};

}  // namespace tributary::accelerator
