// CRC-32C (Castagnoli; RFC 3720, B.4): detects damage of a chunk end to end.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::parameters {

// The CRC of `bytes`, continued from `crc`, that of the bytes before them.
std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace tributary::parameters
