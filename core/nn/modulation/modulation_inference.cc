#include "core/nn/modulation/modulation_inference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tributary::nn {
namespace {

constexpr std::size_t kBurstFloats = kModulationInput.size();

// Calls visit(first, count, values) for the bursts of each pass of the stack.
template <class Visit>
void ForEachPass(std::span<const float> bursts, Visit visit) {
  const std::size_t batch = bursts.size() / kBurstFloats;
  for (std::size_t first = 0; first < batch; first += kSequenceLanes) {
    const std::size_t count = std::min(kSequenceLanes, batch - first);
    visit(first, count, bursts.subspan(first * kBurstFloats, count * kBurstFloats));
  }
}

bool IsFinite(std::span<const float> burst) {
  return std::ranges::all_of(burst, [](float sample) { return std::isfinite(sample); });
}

}  // namespace

void LayOutBursts(std::span<const float> bursts, std::span<float> lanes) {
  const std::size_t count = bursts.size() / kBurstFloats;
  for (std::size_t i = 0; i < kBurstFloats; ++i) {
    for (std::size_t n = 0; n < kSequenceLanes; ++n) {
      lanes[i * kSequenceLanes + n] = n < count ? bursts[n * kBurstFloats + i] : 0.0f;
    }
  }
}

ModulationInference::ModulationInference(ModulationNetwork network)
    : network_(std::move(network)),
      layout_(network_.architecture->tensors()),
      stack_(kModulationInput, network_.architecture->layers, layout_) {
  stack_.SetParameters(network_.parameters);
}

void ModulationInference::Run(std::span<const float> bursts, std::size_t batch, std::span<float> logits) {
  ForEachPass(bursts.first(batch * kBurstFloats),
              [&](std::size_t first, std::size_t count, std::span<const float> values) {
                LayOutBursts(values, stack_.input());
                const auto outputs = stack_.Forward();
                for (std::size_t n = 0; n < count; ++n) {
                  const bool finite = IsFinite(values.subspan(n * kBurstFloats, kBurstFloats));
                  for (std::size_t k = 0; k < kModulationClasses; ++k) {
                    logits[(first + n) * kModulationClasses + k] =
                        finite ? outputs[k * kSequenceLanes + n] : std::numeric_limits<float>::quiet_NaN();
                  }
                }
              });
}

void ModulationInference::UpdateRanges(std::span<const float> bursts, std::span<float> ranges) {
  for (const float value : bursts) ranges[0] = std::max(ranges[0], std::abs(value));
  ForEachPass(bursts, [&](std::size_t, std::size_t count, std::span<const float> values) {
    LayOutBursts(values, stack_.input());
    stack_.Forward();
    stack_.UpdateRanges(count, ranges.subspan(1));
  });
}

}  // namespace tributary::nn
