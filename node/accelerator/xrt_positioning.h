// The positioning network on a board, through XRT.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/model/positioning_model.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_frames.h"

namespace tributary::accelerator {

// Same outputs as PositioningModel in int8_16, bit for bit; a frame is a subject.
class XrtPositioning final : public Accelerator {
 public:
  static constexpr const char* kKernel = "positioning_kernel";

  // Errors: InvalidArgument for a network that does not fit or max_batch 0; those of XrtFrames::Create.
  static absl::StatusOr<std::unique_ptr<XrtPositioning>> Create(const nn::PositioningNetwork& network,
                                                                std::size_t max_batch,
                                                                const XrtOptions& options);

  Shape shape() const override;
  std::string description() const override;
  // Errors: those of XrtFrames::Run.
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;
  Counters counters() const override { return frames_->counters(); }

 private:
  XrtPositioning(fpga::PositioningModel model, std::size_t max_batch, std::unique_ptr<XrtFrames> frames);

  const fpga::PositioningModel model_;
  const std::size_t max_batch_;
  const std::unique_ptr<XrtFrames> frames_;
  std::vector<char> finite_;  // [max_batch]
};

}  // namespace tributary::accelerator
