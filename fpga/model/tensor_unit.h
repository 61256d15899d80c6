// The golden model of the tensor unit: fpga/rtl/tensor equals it bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

struct TensorRun {
  TensorStatus status = TensorStatus::kOk;
  std::uint32_t command = 0;  // at which the run ended
  std::uint64_t cycles = 0;   // TensorCycles of what was executed (tensor_timing.h)
};

// What tensor_kernel writes behind its output buffer: the two words of every kernel, then bits 7:0 status and
// 31:8 command.
inline constexpr std::size_t kTensorReportWords = 3;
// Nothing without the mark of a run that took place.
std::optional<TensorRun> ReadTensorReport(std::span<const std::uint64_t, kTensorReportWords> words);

// "status 1 (a field out of range) at command 3".
std::string TensorFaultText(const TensorRun& run);

// One unit with its memories, which keep their contents from run to run. One thread at a time.
class TensorUnit {
 public:
  explicit TensorUnit(const TensorUnitSize& size);

  // Executes a program of any words. Buffers are in 64-bit words; STORE writes to `output` only. After a
  // status other than kOk the contents of the activation memory and of what later commands would have written
  // are unspecified.
  TensorRun Run(std::span<const std::uint64_t> program, std::span<const std::uint64_t> input,
                std::span<std::uint64_t> output);

  const TensorUnitSize& size() const { return size_; }

 private:
  void Load(const TensorCommand& command, std::span<const std::uint64_t> from);
  void Store(const TensorCommand& command, std::span<std::uint64_t> to) const;
  void Convolve(const TensorCommand& command, std::span<const std::uint64_t> following);
  void ConvolveBfloat(const TensorCommand& command, std::span<const std::uint64_t> following);
  void ConvolveInt16(const TensorCommand& command, std::span<const std::uint64_t> following);
  void ConvolveInt32(const TensorCommand& command, std::span<const std::uint64_t> following);
  void ConvolveFloat32(const TensorCommand& command, std::span<const std::uint64_t> following);
  void Depthwise(const TensorCommand& command, std::span<const std::uint64_t> following);
  void Pool(const TensorCommand& command, std::span<const std::uint64_t> following);

  // Numbers of 16 and 32 bits (tensor_unit_wide.h).
  template <typename Value, typename Add>
  void ForEachVector(const TensorCommand& command, std::span<const std::uint64_t>& following, Value pad,
                     Add add) const;
  template <typename Value, typename Add, typename Result>
  void ConvolveFloats(const TensorCommand& command, std::span<const std::uint64_t> following, Value pad,
                      Add add, Result result);
  template <typename Value>
  void WriteWide(const TensorCommand& command, std::uint32_t block, std::size_t column, std::uint32_t pixel,
                 Value value);

  std::int32_t Activation(const TensorCommand& command, std::uint32_t block, int y, int x,
                          std::uint32_t lane) const;
  // The address of a vector, or nothing where the pad value counts.
  std::optional<std::size_t> VectorAt(const TensorCommand& command, std::uint32_t block, int y, int x) const;
  // One output of the stage behind the sums, written to its place.
  void Write(const TensorCommand& command, const TensorChannel& channel, std::uint32_t block,
             std::uint32_t pixel, std::uint32_t lane, std::int32_t sum);

  TensorUnitSize size_;
  std::vector<std::int8_t> activations_;  // [vector][lane]
  std::vector<std::uint64_t> kept_;       // weights that stay
};

// The output stage (tensor_program.h) alone; `residual` counts with kTensorResidual only.
std::int8_t TensorOutputOf(std::int32_t sum, const TensorChannel& channel, const TensorOutput& output,
                           bool with_residual, std::int8_t residual);

}  // namespace tributary::fpga
