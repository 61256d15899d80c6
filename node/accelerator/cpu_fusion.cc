#include "node/accelerator/cpu_fusion.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<CpuFusion>> CpuFusion::Create(std::size_t panels, std::size_t max_batch) {
  if (absl::Status status = Check(panels, max_batch); !status.ok()) return status;
  return std::unique_ptr<CpuFusion>(new CpuFusion(panels, max_batch));
}

absl::Status CpuFusion::Fuse(std::span<const FusionTuple> tuples, std::size_t panels,
                             std::span<FusionTuple> fused) {
  for (std::size_t row = 0; row < fused.size(); ++row) {
    fused[row] = tributary::Fuse(tuples.subspan(row * panels, panels), /*raw=*/false);
  }
  return absl::OkStatus();
}

}  // namespace tributary
