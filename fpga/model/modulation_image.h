// Words of the modulation block of fpga/rtl: its program and weights, its bursts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/model/modulation_int8.h"

namespace tributary::fpga {

// Parameters of the instance that decide the order of its weights; the defaults are those of modulation.sv.
struct ModulationParallelism {
  std::size_t columns = 12;  // COLUMNS: each has two output channels
  std::size_t rows = 2048;   // ROWS: of weights of all columns
};

// The kernels with this block, by their names in an xclbin.
struct ModulationKernel {
  std::string_view name;
  ModulationParallelism parallelism;
};
inline constexpr std::array<ModulationKernel, 2> kModulationKernels{{
    {.name = "modulation_kernel", .parallelism = {}},
    {.name = "modulation_kernel_8", .parallelism = {.columns = 8, .rows = 2112}},
}};

inline constexpr std::size_t kModulationLayers = 8;
inline constexpr std::size_t kModulationScales = 256;  // output channels of all layers, in whole passes
inline constexpr std::size_t kModulationInputWords = kModulationInputs / 8;
inline constexpr std::size_t kModulationOutputWords = kModulationClasses / 2;

// Words of the load stream.
constexpr std::size_t ModulationParameterWordCount(const ModulationParallelism& parallelism = {}) {
  return kModulationLayers + kModulationScales + parallelism.columns / 4 * parallelism.rows;
}

// Cycles from one burst to the next, by the shapes alone: a pass computes two channels per column at 16
// positions, one product each per cycle.
std::size_t ModulationCycles(const Int8Modulation& network, const ModulationParallelism& parallelism = {});

// The load stream, in the order of fpga/rtl/modulation/modulation_loader.sv. A last layer whose weights do
// not depend on the tap is a mean: it runs with one tap, and the logic adds up the positions. Errors:
// InvalidArgument for a network that needs more rows or channels than the logic has.
absl::StatusOr<std::vector<std::uint64_t>> ModulationParameterWords(
    const Int8Modulation& network, const ModulationParallelism& parallelism = {});

// Eight samples per word, the first in the low byte: burst [256], words [32].
void ModulationBurstWords(std::span<const std::int8_t> burst, std::span<std::uint64_t> words);

}  // namespace tributary::fpga
