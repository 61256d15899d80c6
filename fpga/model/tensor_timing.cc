#include "fpga/model/tensor_timing.h"

#include <algorithm>

namespace tributary::fpga {
namespace {

constexpr std::uint64_t kDecode = 12;  // from a command's first word to the start of its work
constexpr std::uint64_t kAnswer =
    18;  // LOAD, STORE: from the request to the first word, and to the last answer
constexpr std::uint64_t kBurst = 64;  // words; a burst of a STORE takes kStoreGap more
constexpr std::uint64_t kStoreGap = 2;
constexpr std::uint64_t kRead = 4;     // from an address to its vector
constexpr std::uint64_t kResult = 26;  // from a sum to its result in the activation memory
constexpr std::uint64_t kTaken = 8;    // from a sum until the next channel words may come
constexpr std::uint64_t kWindow = 6;   // from a vector to its depthwise sum

std::uint64_t DenseLatency(std::uint64_t n) {
  std::uint64_t tree = 0;  // levels of the adders behind the columns, two per cycle
  while ((n / 4) >> tree > 1) ++tree;
  return kRead + 8 + (tree + 1) / 2 + n / 2 - 1 + 1;
}

// From taking a tile to having the next one, if its weights wait in the program.
std::uint64_t TilePeriod(std::uint64_t words, std::uint64_t n) {
  return words + (n == 8 ? 3 : n == 16 ? 2 : 1);
}

// The way of a CONVOLVE through matrix and output stage.
struct DenseWay {
  std::uint64_t sum;     // from an address to the accumulator's new value
  std::uint64_t taken;   // from there until the next channel words may come
  std::uint64_t result;  // from there to the result, or its second vector, in the activation memory
};

DenseWay Int8Way(std::uint64_t n) { return {DenseLatency(n), kTaken, kResult}; }

// See tensor_int16_matrix.sv and tensor_int16_output.sv.
DenseWay Int16Way(std::uint64_t n, bool int32) {
  return {.sum = kRead + n / 2 + 4 + 1, .taken = 7, .result = int32 ? 11u : 15u};
}

// See tensor_int32_matrix.sv and tensor_int32_output.sv.
DenseWay Int32Way(std::uint64_t n) { return {.sum = kRead + n / 4 + 7 + 1, .taken = 7, .result = 17}; }

// `second`: 1 if an output takes two cycles. Channel words come between the last tile of a block and the
// first one of the next.
std::uint64_t DenseCycles(const TensorCommand& c, std::uint64_t n, std::uint64_t tile, std::uint64_t second,
                          const DenseWay& way) {
  const std::uint64_t pixels = std::uint64_t{c.output_height} * c.output_width;
  const std::uint64_t tiles = std::uint64_t{c.input_blocks} * c.kernel_height * c.kernel_width;
  const std::uint64_t output = pixels * (1 + second);
  std::uint64_t block = 0;
  if (tiles == 1) {
    block = std::max({output, tile + n + 2, way.sum + way.taken + n + 2});
  } else {
    block = (tiles - 2) * std::max(pixels, tile) + std::max(pixels, tile + n + 1) + std::max(output, tile);
  }
  const std::uint64_t cycles = tile + (tiles == 1 ? n : 0) + c.output_blocks * block + way.sum + way.result;
  // The last block waits for nothing behind it.
  return tiles == 1 ? cycles - (block - output) : cycles;
}

// The way of a CONVOLVE in bfloat16 or float32.
struct FloatWay {
  std::uint64_t channels;     // words of a block's biases
  std::uint64_t tile_period;  // as TilePeriod; with 8 lanes the loader waits for the sums of the tile before
  std::uint64_t sum;          // from an address to the accumulator's new value
  std::uint64_t result;       // from there to the activation memory
};
constexpr std::uint64_t kFloatAdd = 7;  // see tensor_float_add.sv

// See tensor_bfloat_matrix.sv and tensor_bfloat_output.sv.
FloatWay BfloatWay(std::uint64_t n, std::uint64_t tile) {
  return {.channels = n / 2,
          .tile_period = n == 8 ? 9 : TilePeriod(tile, n),
          .sum = kRead + 5 + (n == 8 ? 1 : 2) + n / 2 + kFloatAdd,
          .result = 4};
}

// See tensor_float32_matrix.sv and tensor_float32_output.sv.
FloatWay Float32Way(std::uint64_t n, std::uint64_t tile) {
  return {.channels = n / 4,
          .tile_period = n == 8 ? 9 : TilePeriod(tile, n),
          .sum = kRead + 6 + (n == 32 ? 2 : 1) + kFloatAdd,
          .result = 3};
}

// `words`: of a tile.
std::uint64_t FloatCycles(const TensorCommand& c, std::uint64_t words, const FloatWay& way) {
  const std::uint64_t pixels = std::uint64_t{c.output_height} * c.output_width;
  const std::uint64_t tiles = std::uint64_t{c.input_blocks} * c.kernel_height * c.kernel_width;
  const std::uint64_t float32 = (c.flags & kTensorFloat32) != 0 ? 1 : 0;
  const std::uint64_t output = pixels * (1 + float32);
  const std::uint64_t tile = way.tile_period;
  // Channel words and first tile of the next block come behind the last tile, and the former not before the
  // first sum of this block, which takes the biases.
  const std::uint64_t next = way.channels + words + 2;
  std::uint64_t block = std::max(output, way.sum - 9 + next);
  if (tiles > 1) {
    const std::uint64_t last_two = std::max(std::max(pixels, tile) + std::max(output, tile), tile + next - 1);
    block = std::max(block, (tiles - 2) * std::max(pixels, tile) + last_two);
  }
  // The last block waits for nothing behind it.
  const std::uint64_t last = (tiles - 1) * std::max(pixels, tile) + output - float32;
  return way.channels + tile + (c.output_blocks - std::uint64_t{1}) * block + last + way.sum + way.result;
}

}  // namespace

void TensorTiming::Add(const TensorCommand& c) {
  const std::uint64_t n = size_.lanes;
  const std::uint64_t pixels = std::uint64_t{c.output_height} * c.output_width;
  const std::uint64_t with_residual = (c.flags & kTensorResidual) != 0 ? 1 : 0;
  cycles_ += kDecode;
  switch (c.opcode) {
    case TensorOpcode::kEnd:
      return;
    case TensorOpcode::kKeep:
      cycles_ += c.input_plane + 1;
      return;
    case TensorOpcode::kLoad:
      cycles_ += kAnswer + std::uint64_t{c.input_plane} * size_.vector_words();
      return;
    case TensorOpcode::kStore: {
      const std::uint64_t words = std::uint64_t{c.input_plane} * size_.vector_words();
      cycles_ += kAnswer + words + kStoreGap * ((words + kBurst - 1) / kBurst);
      return;
    }
    case TensorOpcode::kConvolve: {
      const std::uint64_t words = TensorTileWords(c, size_), tile = TilePeriod(words, n);
      const bool second = (c.flags & kTensorInt32) != 0;
      switch (c.precision) {
        case TensorPrecision::kInt8:
          cycles_ += DenseCycles(c, n, tile, with_residual, Int8Way(n));
          return;
        case TensorPrecision::kBfloat16:
          cycles_ += FloatCycles(c, words, BfloatWay(n, words));
          return;
        case TensorPrecision::kInt16:
          cycles_ += DenseCycles(c, n, tile, second ? 1 : 0, Int16Way(n, second));
          return;
        case TensorPrecision::kInt32:
          cycles_ += DenseCycles(c, n, tile, 0, Int32Way(n));
          return;
        case TensorPrecision::kFloat32:
          cycles_ += FloatCycles(c, words, Float32Way(n, words));
          return;
      }
      return;
    }
    case TensorOpcode::kDepthwise: {
      const std::uint64_t rows = (c.output_height - std::uint64_t{1}) * c.stride_y + 3;
      const std::uint64_t columns = (c.output_width - std::uint64_t{1}) * c.stride_x + 3;
      cycles_ += c.output_blocks * (9 * n / 8 + n + kRead + 2 + rows * columns) + kWindow + kResult;
      return;
    }
    case TensorOpcode::kMaxPool:
    case TensorOpcode::kSumPool: {
      const std::uint64_t window = std::uint64_t{c.kernel_height} * c.kernel_width + with_residual;
      const std::uint64_t output = pixels * window;
      const std::uint64_t block = std::max(output, window + kRead + kTaken + n + 2);
      cycles_ += n + (c.output_blocks - std::uint64_t{1}) * block + output + kRead + 4 + kResult;
      return;
    }
  }
}

}  // namespace tributary::fpga
