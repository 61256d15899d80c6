// Bits of a port that has more than 64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::fpga {

// At most 64 bits.
template <typename Port>
std::int64_t SignedBits(const Port& port, std::size_t from, unsigned bits) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bits; ++i) {
    value |= std::uint64_t{port.m_storage[(from + i) / 32] >> ((from + i) % 32) & 1} << i;
  }
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

template <typename Port>
void SetBits(Port& port, std::size_t from, unsigned bits, std::uint64_t value) {
  for (unsigned i = 0; i < bits; ++i) {
    auto& word = port.m_storage[(from + i) / 32];
    const std::uint32_t bit = 1u << ((from + i) % 32);
    word = (value >> i & 1) != 0 ? word | bit : word & ~bit;
  }
}

}  // namespace tributary::fpga
