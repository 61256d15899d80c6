// A program of the tensor unit with its buffers, whatever executes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::accelerator {

// One thread.
class TensorJob {
 public:
  // Writes the input buffer of a run. / Reads its output buffer. Words of 64 bits, all of the buffer.
  using Fill = absl::FunctionRef<void(std::size_t run, std::span<std::uint64_t> input)>;
  using Take = absl::FunctionRef<void(std::size_t run, std::span<const std::uint64_t> output)>;

  virtual ~TensorJob() = default;

  // Replaces the program by another one of as many words. Errors: those of the device.
  virtual absl::Status Load(std::vector<std::uint64_t> words) = 0;
  // The clock cycles of all runs. Errors: those of the device, and of a program that ends with a fault.
  virtual absl::StatusOr<std::uint64_t> Run(std::size_t runs, Fill fill, Take take) = 0;
};

}  // namespace tributary::accelerator
