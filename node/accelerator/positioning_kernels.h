// The vectorised steps of the positioning network, chosen for the processor at run time (Highway). Each gives
// exactly the numbers of fpga/model; float products may differ in their last bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fpga/model/positioning_model.h"
#include "node/accelerator/packed_layer.h"

namespace tributary::accelerator {

// Phase-aligns and standardises one subject's features [1024], and quantises them to the type of `words`
// [1024]. False if a value is not finite; `words` is unspecified then.
bool PrepareInput(const fpga::PositioningInput& input, const float* features, std::int8_t* words);
bool PrepareInput(const fpga::PositioningInput& input, const float* features, std::int16_t* words);
bool PrepareInput(const fpga::PositioningInput& input, const float* features, std::int32_t* words);
bool PrepareInput(const fpga::PositioningInput& input, const float* features, float* words);

// sums [rows × 16·blocks] = inputs [rows × row_stride] · weights over `groups` pairs of inputs from
// first_group on; inputs points to the first of them. The caller guarantees |sums| < 2^31.
void MultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                   const PackedWeights<std::int16_t>& weights, std::size_t first_group, std::size_t groups,
                   std::int32_t* sums);

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

// results [rows × 16·blocks] = inputs [rows × row_stride] · weights [blocks × columns × 16], and rectified,
// then scaled and offset where these are not null.
void MultiplyFloat(const float* inputs, std::size_t row_stride, std::size_t rows, const float* weights,
                   std::size_t columns, std::size_t blocks, bool rectified, const float* scale,
                   const float* offset, float* results);

}  // namespace tributary::accelerator
