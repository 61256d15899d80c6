#include "node/accelerator/xrt_fusion.h"

#include <cstdint>

#include "fpga/model/fusion_model.h"

namespace tributary::accelerator {

absl::StatusOr<std::unique_ptr<XrtFusion>> XrtFusion::Create(std::size_t panels, std::size_t max_batch,
                                                             const XrtOptions& options) {
  if (absl::Status status = Check(panels, max_batch); !status.ok()) return status;
  auto frames =
      XrtFrames::Create({kKernel, panels * fpga::kFusionTupleWords, fpga::kFusionTupleWords, {}}, options);
  if (!frames.ok()) return frames.status();
  return std::unique_ptr<XrtFusion>(new XrtFusion(panels, max_batch, *std::move(frames)));
}

std::string XrtFusion::description() const { return fmt::format("xrt (fusion, {})", frames_->description()); }

absl::Status XrtFusion::Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                             std::span<fpga::FusionTuple> fused) {
  const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
    fpga::FusionTupleWords(tuples.subspan(first * panels, count * panels), words);
  };
  const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
    fpga::FusionTuplesFromWords(words, fused.subspan(first, count));
  };
  return frames_->Run(fused.size(), panels * fpga::kFusionTupleWords,
                      fpga::FusionConfiguration(panels, /*raw=*/false), fill, take);
}

}  // namespace tributary::accelerator
