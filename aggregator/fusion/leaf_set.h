// Which leaf sources an estimate contains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::fusion {

// A set of leaves of one site, by their index in SiteConfig::leaves.
class LeafSet {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::size_t kWords = kCapacity / 64;

  static constexpr std::size_t WordsFor(std::size_t leaves) { return (leaves + 63) / 64; }

  constexpr void Insert(std::size_t leaf) { words_[leaf / 64] |= std::uint64_t{1} << (leaf % 64); }
  constexpr void Erase(std::size_t leaf) { words_[leaf / 64] &= ~(std::uint64_t{1} << (leaf % 64)); }
  constexpr bool Contains(std::size_t leaf) const { return words_[leaf / 64] >> (leaf % 64) & 1; }

  constexpr bool empty() const { return *this == LeafSet(); }
  constexpr bool Intersects(const LeafSet& other) const { return !(*this & other).empty(); }
  constexpr bool IsSubsetOf(const LeafSet& other) const { return (*this & other) == *this; }

  // Bits of leaves 0…63, 64…127 and so on, least significant first: the wire's order.
  constexpr const std::array<std::uint64_t, kWords>& words() const { return words_; }

  constexpr LeafSet& operator|=(const LeafSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    return *this;
  }
  friend constexpr LeafSet operator&(LeafSet a, const LeafSet& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend constexpr bool operator==(const LeafSet&, const LeafSet&) = default;

 private:
  std::array<std::uint64_t, kWords> words_ = {};
};

}  // namespace tributary::fusion
