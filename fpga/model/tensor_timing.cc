#include "fpga/model/tensor_timing.h"

#include <algorithm>

namespace tributary::fpga {
namespace {

constexpr std::uint64_t kDecode = 12;    // from a command's first word to its first address
constexpr std::uint64_t kDrain = 30;     // from the last address to the last result in the activation memory
constexpr std::uint64_t kTransfer = 30;  // of LOAD and STORE: from the request to its last answer
constexpr std::uint64_t kTileGap = 5;    // until the weights behind those of a tile that began may move

}  // namespace

void TensorTiming::Add(const TensorCommand& c) {
  const std::uint64_t n = size_.lanes;
  const std::uint64_t pixels = std::uint64_t{c.output_height} * c.output_width;
  const std::uint64_t with_residual = (c.flags & kTensorResidual) != 0 ? 1 : 0;
  cycles_ += kDecode;
  switch (c.opcode) {
    case TensorOpcode::kEnd:
      return;
    case TensorOpcode::kLoad:
    case TensorOpcode::kStore:
      cycles_ += kTransfer + std::uint64_t{c.input_plane} * size_.vector_words();
      return;
    case TensorOpcode::kConvolve: {
      const std::uint64_t tiles = std::uint64_t{c.input_blocks} * c.kernel_height * c.kernel_width;
      const std::uint64_t load = n * n / 8 + kTileGap;
      const std::uint64_t last = std::max(pixels * (1 + with_residual), load + n);
      cycles_ += load + c.output_blocks * ((tiles - 1) * std::max(pixels, load) + last) + kDrain;
      return;
    }
    case TensorOpcode::kDepthwise: {
      const std::uint64_t rows = (c.output_height - std::uint64_t{1}) * c.stride_y + 3;
      const std::uint64_t columns = (c.output_width - std::uint64_t{1}) * c.stride_x + 3;
      cycles_ += c.output_blocks * (9 * n / 8 + n + kTileGap + rows * columns) + kDrain;
      return;
    }
    case TensorOpcode::kMaxPool:
    case TensorOpcode::kSumPool: {
      const std::uint64_t window = std::uint64_t{c.kernel_height} * c.kernel_width + with_residual;
      cycles_ += n + c.output_blocks * std::max(pixels * window, n + kTileGap) + kDrain;
      return;
    }
  }
}

std::uint64_t TensorBlockProducts(const TensorCommand& c, const TensorUnitSize& size) {
  const std::uint64_t n = size.lanes;
  const std::uint64_t taps = std::uint64_t{c.kernel_height} * c.kernel_width;
  const std::uint64_t outputs = std::uint64_t{c.output_height} * c.output_width * c.output_blocks * n;
  if (c.opcode == TensorOpcode::kConvolve) return outputs * taps * c.input_blocks * n;
  return c.opcode == TensorOpcode::kDepthwise ? outputs * taps : 0;
}

}  // namespace tributary::fpga
