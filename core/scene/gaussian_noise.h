// Standard normal numbers by counter: the same on every processor (up to rounding), in any order. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <span>

namespace tributary::scene {

// Fills `noise` with independent standard normal numbers that depend only on (seed, stream) and the place in
// the span (Box-Muller on a 24-bit uniform: |x| < 5.8). At most 2^32 numbers.
void FillGaussianNoise(std::uint64_t seed, std::uint64_t stream, std::span<float> noise);

// A 64-bit mix of two numbers (SplitMix64's finaliser): for uniform draws by counter.
constexpr std::uint64_t MixBits(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (counter + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Uniform in [0, 1).
constexpr double UniformAt(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(MixBits(seed, counter) >> 11) * 0x1p-53;
}

}  // namespace tributary::scene
