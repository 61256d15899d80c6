// Fusion on the processor: the block's golden model.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "node/accelerator/fusion_accelerator.h"

namespace tributary::accelerator {

class CpuFusion final : public FusionAccelerator {
 public:
  // Errors: as Check.
  static absl::StatusOr<std::unique_ptr<CpuFusion>> Create(std::size_t panels, std::size_t max_batch);

  std::string description() const override { return "cpu (fusion)"; }

 private:
  using FusionAccelerator::FusionAccelerator;
  absl::Status Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                    std::span<fpga::FusionTuple> fused) override;
};

}  // namespace tributary::accelerator
