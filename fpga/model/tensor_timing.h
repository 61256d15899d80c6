// The cycles of the tensor unit, with a memory that gives and takes a word in every cycle.
#pragma once

#include <cstdint>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

// Adds up the cycles of commands in their order, with answers of the bus after eight cycles. fpga/tb/tensor
// holds the RTL to it within 2 % and 25 cycles per command, and whole networks within half a per cent.
class TensorTiming {
 public:
  explicit TensorTiming(const TensorUnitSize& size) : size_(size) {}

  // The command passes CheckTensorCommand.
  void Add(const TensorCommand& command);

  // From the start of the run to its report.
  std::uint64_t cycles() const { return cycles_; }

 private:
  TensorUnitSize size_;
  std::uint64_t cycles_ = 0;
};

}  // namespace tributary::fpga
