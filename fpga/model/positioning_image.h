// Words of the positioning block of fpga/rtl: its parameters, its inputs, its results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fpga/model/positioning_model.h"

namespace tributary::fpga {

// Parameters of the instance that decide the order of its weights; the defaults are those of positioning.sv.
struct PositioningParallelism {
  std::size_t first_layer_inputs = 512;  // PARALLEL1
  std::size_t third_layer_inputs = 13;   // PARALLEL3
};

// The load stream, in the order of fpga/rtl/positioning/positioning_loader.sv, of a network in int8_16, the
// only format of the logic. Layer 1 has an even number of outputs; first_layer_inputs is a multiple of 8 that
// divides its inputs.
std::vector<std::uint64_t> PositioningParameterWords(const FixedPositioning& fixed,
                                                     const PositioningParallelism& parallelism = {});

// Eight features per word, the first in the low byte. The size of `features` is a multiple of 8, each is an
// int8.
std::vector<std::uint64_t> PositioningInputWords(std::span<const std::int32_t> features);

// Results from ceil(n / 2) words, the first in the low half.
void PositioningResults(std::span<const std::uint64_t> words, std::span<std::int32_t> results);

}  // namespace tributary::fpga
