// Reproducible random numbers with random access: SplitMix64 (Steele, Lea & Flood, 2014).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

namespace tributary::nn {

// Equal with every compiler and standard library, unlike the distributions of <random>.
class RandomStream {
 public:
  explicit constexpr RandomStream(std::uint64_t key) : state_(key) {}

  // Each pair has its own stream.
  static constexpr RandomStream Of(std::uint64_t key, std::uint64_t index) {
    RandomStream outer(key);
    return RandomStream(outer.Bits() ^ RandomStream(index * 0x9e3779b97f4a7c15ULL + 1).Bits());
  }

  constexpr std::uint64_t Bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // In [0, 1).
  constexpr double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  constexpr double Uniform(double low, double high) { return low + (high - low) * Uniform(); }

  // In [0, n); n below 2^32, bias below n / 2^64.
  constexpr std::uint64_t Below(std::uint64_t n) { return ((Bits() >> 32) * n) >> 32; }

  // Fisher & Yates, 1938.
  template <class Values>
  constexpr void Shuffle(Values& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

  // Standard normal (Box & Muller, 1958).
  double Normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * Uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace tributary::nn
