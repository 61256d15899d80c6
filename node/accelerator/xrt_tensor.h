// The tensor unit of a board as a target of quantised layers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "node/accelerator/accelerator.h"
#include "node/accelerator/create.h"
#include "node/accelerator/tensor_section.h"
#include "node/accelerator/xrt_units.h"

namespace tributary::accelerator {

// Programs of tensor_kernel. Sections of any number of graphs share the opened board and its units: each
// section is a job of XrtUnits, and the images of a batch go to the units in turn. One thread for all
// sections, except for counters().
class XrtTensorTarget final : public TensorTarget {
 public:
  // Errors: those of XrtUnits::Open.
  static absl::StatusOr<std::unique_ptr<XrtTensorTarget>> Open(const XrtOptions& options);

  std::string_view name() const override { return "tensor unit (xrt)"; }
  std::string description() const { return units_->description(); }
  Accelerator::Counters counters() const override { return units_->counters(); }

 private:
  explicit XrtTensorTarget(std::unique_ptr<XrtUnits> units);

  // Errors: those of XrtUnits::Add.
  absl::StatusOr<std::unique_ptr<TensorSection>> Ready(TensorProgram program,
                                                       std::uint64_t memory_bytes) const override;

  const std::unique_ptr<XrtUnits> units_;
};

}  // namespace tributary::accelerator
