// Fusion on a board, through XRT.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "node/accelerator/fusion_accelerator.h"
#include "node/accelerator/xrt_frames.h"

namespace tributary::accelerator {

// A frame of the kernel is a subject; the subjects of a run have equally many tuples.
class XrtFusion final : public FusionAccelerator {
 public:
  static constexpr const char* kKernel = "fusion_kernel";

  // Errors: as Check; those of XrtFrames::Create.
  static absl::StatusOr<std::unique_ptr<XrtFusion>> Create(std::size_t panels, std::size_t max_batch,
                                                           const XrtOptions& options);

  std::string description() const override;
  Counters counters() const override { return frames_->counters(); }

 private:
  XrtFusion(std::size_t panels, std::size_t max_batch, std::unique_ptr<XrtFrames> frames)
      : FusionAccelerator(panels, max_batch), frames_(std::move(frames)) {}
  // Errors: those of XrtFrames::Run.
  absl::Status Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                    std::span<fpga::FusionTuple> fused) override;

  const std::unique_ptr<XrtFrames> frames_;
};

}  // namespace tributary::accelerator
