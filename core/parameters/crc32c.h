// CRC-32C (Castagnoli; RFC 3720, B.4): protects a chunk end to end.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::parameters {

// Of `bytes` behind those whose CRC is `crc`.
std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace tributary::parameters
