// Pseudo-random values for this folder's tests.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace tributary::nn {

inline std::vector<float> RandomValues(std::size_t count, unsigned seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace tributary::nn
