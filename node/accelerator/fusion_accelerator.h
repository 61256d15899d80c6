// Conflation of the tuples of a board's panels, on the processor or a board.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "fpga/model/fusion_model.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// Inputs per subject: panels × (x, y, l11, l21, l22), m; NaN as l11 where a panel has no tuple of the
// subject. Outputs: the five of the fused tuple; NaN if no panel has one, or a tuple is not valid. A single
// tuple stays as it is. Every implementation gives the fusion block's numbers, bit for bit
// (fpga/model/fusion_model.h).
class FusionAccelerator : public Accelerator {
 public:
  static constexpr std::size_t kValues = 5;  // of a tuple

  FusionAccelerator(std::size_t panels, std::size_t max_batch)
      : Accelerator({.inputs = panels * kValues, .outputs = kValues, .max_batch = max_batch}),
        panels_(panels) {}

  // InvalidArgument unless there are 2 to kFusionPanels panels and max_batch is at least 1.
  static absl::Status Check(std::size_t panels, std::size_t max_batch);

 private:
  absl::Status Run(std::span<const float> tuples, std::size_t batch, std::span<float> fused) final;

  // Fuses rows of `panels` tuples each: tuples [rows × panels], fused [rows]. 2 or more panels, 1 or more
  // rows.
  virtual absl::Status Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                            std::span<fpga::FusionTuple> fused) = 0;

  const std::size_t panels_;
  // Rows with the same number of tuples, which are fused together.
  std::vector<std::size_t> rows_;
  std::vector<fpga::FusionTuple> tuples_, fused_;
};

}  // namespace tributary::accelerator
