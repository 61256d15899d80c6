// The golden model of the fusion block, bit for bit: its words, and its kernel's configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/fusion_algorithm.h"

namespace tributary::fpga {

// Mean (m) and lower Cholesky factor (m) of the covariance, as on the block's streams.
using FusionTuple = FusionOperands<float>;

// From 1 to kFusionPanels tuples. raw: l11 and l22 are the network's outputs; softplus(.) + 1e-5 is applied
// first. All five are NaN if a value is not finite or, when not raw, an l11 or l22 is not positive (subnormal
// counts as zero).
FusionTuple Fuse(std::span<const FusionTuple> panels, bool raw);

// {y, x}, {l21, l11}, {0, l22} in single precision, the second of each in the low half.
inline constexpr std::size_t kFusionTupleWords = 3;

// `words` has kFusionTupleWords for each tuple.
void FusionTupleWords(std::span<const FusionTuple> tuples, std::span<std::uint64_t> words);
void FusionTuplesFromWords(std::span<const std::uint64_t> words, std::span<FusionTuple> tuples);

// Register of fpga/rtl/kernel/fusion_kernel.sv; 1 to kFusionPanels panels.
constexpr std::uint32_t FusionConfiguration(std::size_t panels, bool raw) {
  return static_cast<std::uint32_t>(panels) | (raw ? 8u : 0u);
}

}  // namespace tributary::fpga
