// Integer matrix products by the dot-product instructions of AVX-512 VNNI.
#include "hwy/targets.h"
#include "node/accelerator/positioning_kernels.h"

#if HWY_ARCH_X86

#include <immintrin.h>

#include <cstring>
#include <iterator>
#include <numeric>

#define TRIBUTARY_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace tributary::accelerator {
namespace {

// Each multiply-accumulate has a latency of 5 and two can start per cycle: a tile needs at least 10
// accumulators.
constexpr std::size_t kTileRows = 8;

template <typename T>
std::int32_t Group(const T* inputs) {
  std::int32_t group;
  std::memcpy(&group, inputs, sizeof(group));
  return group;
}

struct Quads {
  using Input = std::int8_t;
  using Weight = std::uint8_t;
  static constexpr std::size_t kGroup = 4;
  TRIBUTARY_VNNI static __m512i MultiplyAdd(__m512i sum, __m512i weights, __m512i inputs) {
    return _mm512_dpbusd_epi32(sum, weights, inputs);
  }
};

struct Pairs {
  using Input = std::int16_t;
  using Weight = std::int16_t;
  static constexpr std::size_t kGroup = 2;
  TRIBUTARY_VNNI static __m512i MultiplyAdd(__m512i sum, __m512i weights, __m512i inputs) {
    return _mm512_dpwssd_epi32(sum, weights, inputs);
  }
};

template <typename Kind>
struct Task {
  const typename Kind::Input* inputs;
  std::size_t row_stride;
  const typename Kind::Weight* weights;  // of the first group
  std::size_t block_stride;              // words from one block of outputs to the next
  std::size_t groups;
  std::int32_t* sums;  // preset
  std::size_t sums_stride;
};

template <typename Kind, std::size_t kBlocks, std::size_t kRows>
TRIBUTARY_VNNI void MultiplyTile(const Task<Kind>& task, std::size_t block, std::size_t row) {
  const typename Kind::Input* inputs = task.inputs + row * task.row_stride;
  const typename Kind::Weight* weights = task.weights + block * task.block_stride;
  std::int32_t* sums = task.sums + row * task.sums_stride + block * kBlockOutputs;
  __m512i sum[kRows][kBlocks];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      sum[r][b] = _mm512_loadu_si512(sums + r * task.sums_stride + b * kBlockOutputs);
    }
  }
  for (std::size_t group = 0; group < task.groups; ++group) {
    __m512i weight[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      weight[b] = _mm512_loadu_si512(weights + b * task.block_stride + group * kBlockOutputs * Kind::kGroup);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i input = _mm512_set1_epi32(Group(inputs + r * task.row_stride + group * Kind::kGroup));
      for (std::size_t b = 0; b < kBlocks; ++b) sum[r][b] = Kind::MultiplyAdd(sum[r][b], weight[b], input);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      _mm512_storeu_si512(sums + r * task.sums_stride + b * kBlockOutputs, sum[r][b]);
    }
  }
}

template <typename Kind, std::size_t kBlocks>
void MultiplyRows(const Task<Kind>& task, std::size_t block, std::size_t rows) {
  std::size_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) MultiplyTile<Kind, kBlocks, kTileRows>(task, block, row);
  for (; row < rows; ++row) MultiplyTile<Kind, kBlocks, 1>(task, block, row);
}

// Adds to the sums. Three blocks of outputs at a time; two pairs where a single block would be left over.
template <typename Kind>
void Multiply(const typename Kind::Input* inputs, std::size_t row_stride, std::size_t rows,
              const PackedWeights<typename Kind::Weight>& weights, std::size_t first_group,
              std::size_t groups, std::int32_t* sums) {
  const Task<Kind> task{.inputs = inputs,
                        .row_stride = row_stride,
                        .weights = weights.words.get() + first_group * kBlockOutputs * Kind::kGroup,
                        .block_stride = weights.groups * kBlockOutputs * Kind::kGroup,
                        .groups = groups,
                        .sums = sums,
                        .sums_stride = weights.blocks * kBlockOutputs};
  for (std::size_t block = 0; block < weights.blocks;) {
    const std::size_t left = weights.blocks - block;
    if (left == 1) {
      MultiplyRows<Kind, 1>(task, block, rows);
      block += 1;
    } else if (left == 2 || left == 4) {
      MultiplyRows<Kind, 2>(task, block, rows);
      block += 2;
    } else {
      MultiplyRows<Kind, 3>(task, block, rows);
      block += 3;
    }
  }
}

// 128 · Σ inputs, which the offset of the weights adds to each sum.
TRIBUTARY_VNNI std::int32_t OffsetOf(const std::int8_t* inputs, std::size_t size) {
  __m512i sum = _mm512_setzero_si512();
  std::size_t i = 0;
  for (; i + 64 <= size; i += 64) {
    sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), _mm512_loadu_si512(inputs + i));
  }
  alignas(64) std::int32_t lanes[16];
  _mm512_store_si512(lanes, sum);
  std::int32_t offset = std::accumulate(std::begin(lanes), std::end(lanes), 0);
  for (; i < size; ++i) offset += 128 * inputs[i];
  return offset;
}

}  // namespace

bool VnniAvailable() { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; }

void VnniMultiplyQuads(const std::int8_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::uint8_t>& weights, std::int32_t* sums) {
  const std::size_t width = weights.blocks * kBlockOutputs;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t offset = OffsetOf(inputs + row * row_stride, weights.groups * Quads::kGroup);
    for (std::size_t i = 0; i < width; ++i) sums[row * width + i] = -offset;
  }
  Multiply<Quads>(inputs, row_stride, rows, weights, 0, weights.groups, sums);
}

void VnniMultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::int16_t>& weights, std::size_t first_group,
                       std::size_t groups, std::int32_t* sums) {
  std::memset(sums, 0, rows * weights.blocks * kBlockOutputs * sizeof(*sums));
  Multiply<Pairs>(inputs, row_stride, rows, weights, first_group, groups, sums);
}

}  // namespace tributary::accelerator

#else

namespace tributary::accelerator {

bool VnniAvailable() { return false; }

void VnniMultiplyQuads(const std::int8_t*, std::size_t, std::size_t, const PackedWeights<std::uint8_t>&,
                       std::int32_t*) {}

void VnniMultiplyPairs(const std::int16_t*, std::size_t, std::size_t, const PackedWeights<std::int16_t>&,
                       std::size_t, std::size_t, std::int32_t*) {}

}  // namespace tributary::accelerator

#endif
