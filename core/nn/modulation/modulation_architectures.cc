#include <algorithm>

#include "core/nn/modulation/modulation_network.h"

namespace tributary::nn {
namespace {

using enum SequenceLayerKind;

// Its dense layers have no biases.
constexpr SequenceLayer kTable4[] = {
    {.kind = kConvolution, .name = "convolution1", .outputs = 32, .size = 8, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution2", .outputs = 16, .size = 16, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kDense, .name = "dense1", .outputs = 64, .relu = true},
    {.kind = kDense, .name = "dense2", .outputs = 32, .relu = true},
    {.kind = kDense, .name = "dense3", .outputs = kModulationClasses},
};

// A modulation shows anywhere in a burst, so the features are averaged over time: that needs far fewer
// weights than dense layers over every step, and generalises better (docs/models.md).
constexpr SequenceLayer kCompact[] = {
    {.kind = kConvolution, .name = "convolution1", .outputs = 24, .size = 12, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution2", .outputs = 24, .size = 7, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution3", .outputs = 32, .size = 5, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kMean},
    {.kind = kDense, .name = "dense1", .outputs = kModulationClasses, .bias = true},
};

// The second convolution sees every step of the burst. That costs 37 % more products than `compact` and tells
// QAM16 from QAM64 more often (docs/models.md).
constexpr SequenceLayer kDeep[] = {
    {.kind = kConvolution, .name = "convolution1", .outputs = 16, .size = 8, .bias = true, .relu = true},
    {.kind = kConvolution, .name = "convolution2", .outputs = 24, .size = 5, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution3", .outputs = 24, .size = 5, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution4", .outputs = 32, .size = 4, .bias = true, .relu = true},
    {.kind = kMaxPool, .size = 2},
    {.kind = kConvolution, .name = "convolution5", .outputs = 32, .size = 1, .bias = true, .relu = true},
    {.kind = kMean},
    {.kind = kDense, .name = "dense1", .outputs = kModulationClasses, .bias = true},
};

constexpr ModulationArchitecture kArchitectures[] = {
    {.name = "table4", .layers = kTable4, .trained_with_norms = false},
    {.name = "compact", .layers = kCompact, .trained_with_norms = true},
    {.name = "deep", .layers = kDeep, .trained_with_norms = true},
};

}  // namespace

std::span<const ModulationArchitecture> ModulationArchitectures() { return kArchitectures; }

const ModulationArchitecture* FindModulationArchitecture(std::string_view name) {
  const auto found = std::ranges::find(kArchitectures, name, &ModulationArchitecture::name);
  return found == std::ranges::end(kArchitectures) ? nullptr : &*found;
}

}  // namespace tributary::nn
