// Bursts whose modulation is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/radio/burst.h"

namespace tributary::recordings {

struct LabelledBursts {
  std::vector<float> bursts;          // [n × 256], of unit power
  std::vector<std::uint8_t> classes;  // [n], numbers in radio::kModulations

  std::size_t count() const { return classes.size(); }
  std::span<float, radio::kBurstFeatures> burst(std::size_t n) {
    return std::span(bursts).subspan(n * radio::kBurstFeatures).first<radio::kBurstFeatures>();
  }
  // Adds the nth burst of others.
  void Append(const LabelledBursts& others, std::size_t n) {
    const auto from = others.bursts.begin() + static_cast<std::ptrdiff_t>(n * radio::kBurstFeatures);
    bursts.insert(bursts.end(), from, from + radio::kBurstFeatures);
    classes.push_back(others.classes[n]);
  }
};

}  // namespace tributary::recordings
