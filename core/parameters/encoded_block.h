// One block of an encoded update: up to kEncodingBlock elements. update_encoding.h is built on it.
#pragma once

#include <cstddef>
#include <span>

#include "core/parameters/update_encoding.h"

namespace tributary::parameters {

// Writes EncodedBytes(encoding, values.size()) bytes and leaves the encoding's error in `values`. The values
// must be finite, for float16 at most 65,504 in magnitude. Not for kFixed32.
void EncodeBlock(UpdateEncoding encoding, std::span<float> values, char* bytes);

// The fault in the bytes of a block, if there is one.
enum class BlockFault { kNone, kNotFinite, kPadding };

// Reads EncodedBytes(encoding, values.size()) bytes. Not for kFixed32.
BlockFault DecodeBlock(UpdateEncoding encoding, const char* bytes, std::span<float> values);

}  // namespace tributary::parameters
