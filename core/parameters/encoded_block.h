// One block of an encoded update: up to kEncodingBlock elements. What update_encoding.h is made of.
#pragma once

#include <cstddef>
#include <span>

#include "core/parameters/update_encoding.h"

namespace tributary::parameters {

// Writes EncodedBytes(encoding, values.size()) bytes and leaves in `values` what the encoding lost of them.
// The values are finite, as float16 at most 65,504 in magnitude. Not for kFixed32.
void EncodeBlock(UpdateEncoding encoding, std::span<float> values, char* bytes);

// What is wrong with the bytes of a block, if anything.
enum class BlockFault { kNone, kNotFinite, kPadding };

// Reads EncodedBytes(encoding, values.size()) bytes. Not for kFixed32.
BlockFault DecodeBlock(UpdateEncoding encoding, const char* bytes, std::span<float> values);

}  // namespace tributary::parameters
