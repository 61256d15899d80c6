#include "node/accelerator/cpu_fusion.h"

namespace tributary::accelerator {

absl::StatusOr<std::unique_ptr<CpuFusion>> CpuFusion::Create(std::size_t panels, std::size_t max_batch) {
  if (absl::Status status = Check(panels, max_batch); !status.ok()) return status;
  return std::unique_ptr<CpuFusion>(new CpuFusion(panels, max_batch));
}

absl::Status CpuFusion::Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                             std::span<fpga::FusionTuple> fused) {
  for (std::size_t row = 0; row < fused.size(); ++row) {
    fused[row] = tributary::fpga::Fuse(tuples.subspan(row * panels, panels), /*raw=*/false);
  }
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
