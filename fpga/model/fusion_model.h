// The golden model of the fusion block, bit for bit.
#pragma once

#include <span>

#include "fpga/model/fusion_algorithm.h"

namespace tributary::fpga {

// Mean (m) and lower Cholesky factor (m) of the covariance, as on the block's streams.
using FusionTuple = FusionOperands<float>;

// From 1 to kFusionPanels tuples. raw: l11 and l22 are the network's outputs; softplus(.) + 1e-5 is applied
// first. All five are NaN if a value is not finite or, when not raw, an l11 or l22 is not positive (subnormal
// counts as zero).
FusionTuple Fuse(std::span<const FusionTuple> panels, bool raw);

}  // namespace tributary::fpga
