// Random numbers by key: the n-th draw depends on the key and n alone. Pure; one thread per object.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/scene/gaussian_noise.h"

namespace tributary::radio {

class Draws {
 public:
  explicit constexpr Draws(std::uint64_t key) : key_(key) {}

  constexpr std::uint64_t Bits() { return scene::MixBits(key_, counter_++); }
  // In [0, 1).
  constexpr double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // In [low, high).
  constexpr double Between(double low, double high) { return low + (high - low) * Uniform(); }
  // In [0, 2π).
  constexpr double Phase() { return 2 * std::numbers::pi * Uniform(); }
  // Standard normal.
  double Normal() { return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(Phase()); }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace tributary::radio
