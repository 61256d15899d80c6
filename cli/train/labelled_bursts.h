// Bursts whose modulation is known.
#pragma once

#include <cstdint>
#include <vector>

namespace tributary::cli {

struct LabelledBursts {
  std::vector<float> bursts;          // [n × 256], of unit power
  std::vector<std::uint8_t> classes;  // [n], numbers in radio::kModulations
};

}  // namespace tributary::cli
