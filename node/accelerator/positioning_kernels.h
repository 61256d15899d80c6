// The vectorised steps of the positioning network, chosen for the processor at run time (Highway). Each gives
// exactly the numbers of fpga/model; float products may differ in their last bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "fpga/model/positioning_model.h"
#include "hwy/aligned_allocator.h"

namespace tributary::accelerator {

inline constexpr std::size_t kBlockOutputs = 16;

// Weights in the order that the integer kernels read: blocks of 16 outputs; in a block the groups of 2 or 4
// inputs that one multiply-accumulate instruction takes; in a group the 16 outputs. Outputs beyond the
// layer's have zero weights.
template <typename T>
struct PackedWeights {
  std::size_t groups = 0;                // of inputs, per output
  std::size_t blocks = 0;                // of outputs
  hwy::AlignedFreeUniquePtr<T[]> words;  // [blocks × groups × 16 × inputs per group]
};

// Phase-aligns and standardises one subject's features [1024], and quantises them to the type of `words`
// [1024]. False if a value is not finite; `words` is unspecified then.
using InputWords = std::variant<std::int8_t*, std::int16_t*, std::int32_t*, float*>;
bool PrepareInput(const fpga::PositioningInput& input, const float* features, InputWords words);

// sums [rows × 16·blocks] = inputs [rows × row_stride] · weights over `groups` pairs of inputs from
// first_group on; inputs points to the first of them. The caller guarantees |sums| < 2^31.
void MultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                   const PackedWeights<std::int16_t>& weights, std::size_t first_group, std::size_t groups,
                   std::int32_t* sums);

// Whether this processor has the dot-product instructions of AVX-512 VNNI, for which Highway 1.0 has no
// operation; false where another target has been forced (hwy::SetSupportedTargetsForTest).
bool VnniAvailable();

// As MultiplyPairs, over all groups of 4 inputs and exact; each weight has 128 added: it is the unsigned
// operand of an 8-bit dot product. Call these two only where VnniAvailable().
void VnniMultiplyQuads(const std::int8_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::uint8_t>& weights, std::int32_t* sums);
void VnniMultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::int16_t>& weights, std::size_t first_group,
                       std::size_t groups, std::int32_t* sums);

// Adds 256 · high + low to the sums that quotient (of 256) and remainder hold; all [count].
void AddSplitSums(const std::int32_t* high, const std::int32_t* low, std::size_t count,
                  std::int32_t* quotient, std::int32_t* remainder);

// words = saturate(round_shift(sums, shift), bits), negative ones zero if rectified; all [count].
void Requantise(const std::int32_t* sums, std::size_t count, int shift, int bits, bool rectified,
                std::int16_t* words);

// words [rows × width] = saturate(round_shift(words · scale + offset, shift), bits) with scale, offset
// [width].
void ScaleAndOffset(const std::int32_t* scale, const std::int32_t* offset, std::size_t rows,
                    std::size_t width, int shift, int bits, std::int16_t* words);

// results [rows × 16·blocks] = inputs [rows × row_stride] · weights in groups of one, and rectified, then
// scaled and offset where these are not null.
void MultiplyFloat(const float* inputs, std::size_t row_stride, std::size_t rows,
                   const PackedWeights<float>& weights, bool rectified, const float* scale,
                   const float* offset, float* results);

}  // namespace tributary::accelerator
