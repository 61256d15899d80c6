// Who computes the layers of a graph that are in floats, and how.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::accelerator {

enum class FloatLayers : std::uint8_t {
  kProcessor,  // in float32
  kBfloat16,   // the tensor unit: operands rounded to bfloat16, sums of float32
};

// As plans and options show it.
constexpr std::string_view NameOf(FloatLayers layers) {
  return layers == FloatLayers::kBfloat16 ? "bfloat16" : "processor";
}

}  // namespace tributary::accelerator
