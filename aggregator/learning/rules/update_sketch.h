// A short vector that stands for an update when it is compared with others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace tributary::learning {

// Count sketch ([Charikar02]): each element is added to or subtracted from one place, both drawn by its
// index. Inner products of sketches are those of the vectors, with an error whose standard deviation is
// 1 / √kSketchSize of the product of their norms. Linear. The same bits on every processor.
inline constexpr std::size_t kSketchSize = 512;
using UpdateSketch = std::array<float, kSketchSize>;

// Adds `values`, the elements from `first` on.
inline void AddToSketch(std::size_t first, std::span<const float> values, UpdateSketch& sketch) {
  std::uint64_t counter = 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(first) + 1);
  for (const float value : values) {
    // SplitMix64's finaliser.
    std::uint64_t bits = counter;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    bits ^= bits >> 31;
    float& place = sketch[bits % kSketchSize];
    place += (bits >> 63) != 0 ? value : -value;
    counter += 0x9e3779b97f4a7c15U;
  }
}

inline double Dot(const UpdateSketch& a, const UpdateSketch& b) {
  constexpr std::size_t kLanes = 16;  // sums of their own, so that the compiler may compute them side by side
  std::array<float, kLanes> sums = {};
  for (std::size_t i = 0; i < kSketchSize; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace tributary::learning
