// The product of a batch and the packed weights of a dense layer: a tile of sums stays in registers. For
// files that Highway compiles once per target, with arrays of vectors, which targets with sizeless vectors do
// not allow.

#if defined(TRIBUTARY_NODE_DENSE_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIBUTARY_NODE_DENSE_PRODUCT_INL_H_
#undef TRIBUTARY_NODE_DENSE_PRODUCT_INL_H_
#else
#define TRIBUTARY_NODE_DENSE_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "node/accelerator/packed_weights.h"

// The dot products of AVX-512 VNNI, for which Highway 1.0 has no operations. Better targets have lower
// numbers.
#undef TRIBUTARY_VNNI
#undef TRIBUTARY_DOT
#if HWY_TARGET <= HWY_AVX3_DL
#define TRIBUTARY_VNNI 1
#define TRIBUTARY_DOT __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
#else
#define TRIBUTARY_VNNI 0
#define TRIBUTARY_DOT
#endif

HWY_BEFORE_NAMESPACE();
namespace tributary::accelerator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, kBlockOutputs>;
using I32 = hn::CappedTag<std::int32_t, kBlockOutputs>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;

// The operands of a product: Add adds to each lane the products of a group of inputs and its weights. `other`
// is used where the instruction set splits the sums over two registers; Total joins them.
struct Floats {
  using D = F32;
  static HWY_INLINE void Add(VF weights, VF inputs, VF& sum, VF&) { sum = hn::MulAdd(weights, inputs, sum); }
  static HWY_INLINE VF Total(VF sum, VF) { return sum; }
};

struct Pairs {
  using D = I32;
  TRIBUTARY_DOT static HWY_INLINE void Add(VI weights, VI inputs, VI& sum, [[maybe_unused]] VI& other) {
#if TRIBUTARY_VNNI
    sum = VI{_mm512_dpwssd_epi32(sum.raw, weights.raw, inputs.raw)};
#elif HWY_TARGET == HWY_SCALAR
    const auto first = [](VI pair) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(pair)); };
    sum = hn::Add(sum, hn::Mul(first(weights), first(inputs)));
    sum = hn::Add(sum, hn::Mul(hn::ShiftRight<16>(weights), hn::ShiftRight<16>(inputs)));
#else
    const hn::Repartition<std::int16_t, I32> i16;
    sum =
        hn::ReorderWidenMulAccumulate(I32(), hn::BitCast(i16, weights), hn::BitCast(i16, inputs), sum, other);
#endif
  }
  static HWY_INLINE VI Total(VI sum, [[maybe_unused]] VI other) {
#if HWY_TARGET == HWY_SCALAR
    return sum;
#else
    return hn::RearrangeToOddPlusEven(sum, other);
#endif
  }
};

#if TRIBUTARY_VNNI
constexpr bool kTakesQuads = true;
// Unsigned inputs.
struct Quads {
  using D = I32;
  TRIBUTARY_DOT static HWY_INLINE void Add(VI weights, VI inputs, VI& sum, VI&) {
    sum = VI{_mm512_dpbusd_epi32(sum.raw, inputs.raw, weights.raw)};
  }
  static HWY_INLINE VI Total(VI sum, VI) { return sum; }
};
#else
constexpr bool kTakesQuads = false;
using Quads = Pairs;  // not called
#endif

template <typename T>
struct Product {
  const std::byte* inputs;
  std::size_t row_bytes;
  const T* weights;          // of the first group
  std::size_t block_stride;  // words from one block of outputs to the next
  std::size_t groups;
  T* sums;
  std::size_t width;
};

template <class Kind, std::size_t kBlocks, std::size_t kRows, typename T = hn::TFromD<typename Kind::D>>
TRIBUTARY_DOT void MultiplyTile(const Product<T>& product, std::size_t block, std::size_t row) {
  using V = hn::Vec<typename Kind::D>;
  constexpr typename Kind::D d;
  constexpr std::size_t kVectors = kBlockOutputs / hn::MaxLanes(d);  // of a block
  const std::byte* inputs = product.inputs + row * product.row_bytes;
  const T* weights = product.weights + block * product.block_stride;
  V sum[kRows][kBlocks * kVectors];
  V other[kRows][kBlocks * kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kBlocks * kVectors; ++v) sum[r][v] = other[r][v] = hn::Zero(d);
  }
  for (std::size_t group = 0; group < product.groups; ++group) {
    V weight[kBlocks * kVectors];
    for (std::size_t v = 0; v < kBlocks * kVectors; ++v) {
      weight[v] = hn::LoadU(d, weights + v / kVectors * product.block_stride + group * kBlockOutputs +
                                   v % kVectors * hn::MaxLanes(d));
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      T input;
      std::memcpy(&input, inputs + r * product.row_bytes + group * sizeof(T), sizeof(T));
      const V broadcast = hn::Set(d, input);
      for (std::size_t v = 0; v < kBlocks * kVectors; ++v) {
        Kind::Add(weight[v], broadcast, sum[r][v], other[r][v]);
      }
    }
  }
  T* sums = product.sums + row * product.width + block * kBlockOutputs;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kBlocks * kVectors; ++v) {
      hn::StoreU(Kind::Total(sum[r][v], other[r][v]), d, sums + r * product.width + v * hn::MaxLanes(d));
    }
  }
}

// The rows from `row` on in tiles of kRows, and what is left over in smaller ones.
template <class Kind, std::size_t kBlocks, std::size_t kRows, typename T>
void MultiplyRows(const Product<T>& product, std::size_t block, std::size_t row, std::size_t rows) {
  for (; row + kRows <= rows; row += kRows) MultiplyTile<Kind, kBlocks, kRows>(product, block, row);
  if constexpr (kRows > 1) MultiplyRows<Kind, kBlocks, kRows / 2>(product, block, row, rows);
}

// sums [rows × width] = inputs [rows × row_bytes] · weights over `groups` groups from first_group on; inputs
// points to the first of them. The caller guarantees that no sum overflows.
template <class Kind, typename T>
void Multiply(const void* inputs, std::size_t row_bytes, std::size_t rows, const PackedWeights<T>& weights,
              std::size_t first_group, std::size_t groups, T* sums) {
  const Product<T> product{.inputs = static_cast<const std::byte*>(inputs),
                           .row_bytes = row_bytes,
                           .weights = weights.words.get() + first_group * kBlockOutputs,
                           .block_stride = weights.groups * kBlockOutputs,
                           .groups = groups,
                           .sums = sums,
                           .width = weights.width()};
  // With 32 registers, three blocks at a time: a multiply-accumulate has a latency of 4 or 5 and two can
  // start per cycle, so that a tile needs 10 accumulators. Two pairs where a single block would be left over.
  constexpr bool kWide = hn::MaxLanes(typename Kind::D()) == kBlockOutputs;
  // With one block, as many accumulators as half the registers.
  constexpr std::size_t kRows = std::max<std::size_t>(hn::MaxLanes(typename Kind::D()) / 2, 1);
  for (std::size_t block = 0; block < weights.blocks;) {
    const std::size_t left = weights.blocks - block;
    if (!kWide || left == 1) {
      MultiplyRows<Kind, 1, kRows>(product, block, 0, rows);
      block += 1;
    } else if (left == 2 || left == 4) {
      MultiplyRows<Kind, 2, kRows>(product, block, 0, rows);
      block += 2;
    } else {
      MultiplyRows<Kind, 3, kRows>(product, block, 0, rows);
      block += 3;
    }
  }
}

}  // namespace tributary::accelerator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
