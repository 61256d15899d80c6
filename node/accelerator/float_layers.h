// Who computes the layers of a graph that are in floats, and how.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tributary::accelerator {

enum class FloatLayers : std::uint8_t {
  kProcessor,  // in float32
  kBfloat16,   // the tensor unit: operands rounded to bfloat16, sums of float32
  kFloat32,    // the tensor unit, in float32
};
// In their order; as configurations, options and plans have them.
inline constexpr std::array kFloatLayerNames = {"processor", "bfloat16", "float32"};

constexpr std::string_view NameOf(FloatLayers layers) {
  return kFloatLayerNames[static_cast<std::size_t>(layers)];
}

}  // namespace tributary::accelerator
