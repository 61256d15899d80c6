// Integer matrix products by the dot-product instructions of AVX-512 VNNI. Highway 1.0 has no operation for
// them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/accelerator/packed_layer.h"

namespace tributary::accelerator {

// Whether this processor has them; false where another target has been forced
// (hwy::SetSupportedTargetsForTest).
bool VnniAvailable();

// sums [rows × 16·blocks] = inputs [rows × row_stride] · weights, exact. Call only where VnniAvailable().
void VnniMultiplyQuads(const std::int8_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::uint8_t>& weights, std::int32_t* sums);

// The same over `groups` pairs of inputs from first_group on; inputs points to the first of them. The caller
// guarantees |sums| < 2^31.
void VnniMultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                       const PackedWeights<std::int16_t>& weights, std::size_t first_group,
                       std::size_t groups, std::int32_t* sums);

}  // namespace tributary::accelerator
