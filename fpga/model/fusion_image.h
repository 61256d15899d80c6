// Input and output words of the fusion block of fpga/rtl, and its kernel's configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/fusion_model.h"

namespace tributary::fpga {

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
