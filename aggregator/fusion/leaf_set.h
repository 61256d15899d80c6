// Which leaf sources an estimate contains.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace tributary::fusion {

inline constexpr std::size_t kMaxLeaves = 256;

// Leaves of one site, by their index in SiteConfig::leaves.
using LeafSet = std::bitset<kMaxLeaves>;

inline bool Intersect(const LeafSet& a, const LeafSet& b) { return (a & b).any(); }
inline bool IsSubset(const LeafSet& part, const LeafSet& whole) { return (part & ~whole).none(); }

// On the wire: bits of leaves 0…63, 64…127 and so on, least significant first.
constexpr std::size_t LeafWords(std::size_t leaves) { return (leaves + 63) / 64; }
inline std::uint64_t LeafWord(const LeafSet& leaves, std::size_t word) {
  return (leaves >> (64 * word) & LeafSet(UINT64_MAX)).to_ullong();
}

}  // namespace tributary::fusion
