#include "fpga/model/modulation_import.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/sequence_stack.h"

namespace tributary::fpga {
namespace {

using nn::SequenceLayer;
using nn::SequenceLayerKind;

std::vector<float> TensorOf(const nn::ModulationNetwork& network, const nn::ParameterLayout& layout,
                            const SequenceLayer& layer, const char* what) {
  const auto values =
      layout.Range(std::string(layer.name) + what).Of(std::span<const float>(network.parameters));
  return {values.begin(), values.end()};
}

// Weights [outputs × channels] of a mean over `positions`: [outputs × channels × positions].
std::vector<float> SpreadOver(const std::vector<float>& weights, std::size_t positions) {
  std::vector<float> spread;
  for (const float weight : weights) {
    spread.insert(spread.end(), positions, weight / static_cast<float>(positions));
  }
  return spread;
}

}  // namespace

TrainedModulation ImportModulation(const nn::ModulationNetwork& network) {
  const nn::ParameterLayout layout(network.architecture->tensors());
  TrainedModulation trained{.input_range = network.activation_range.front(), .layers = {}};
  nn::SequenceShape shape = nn::kModulationInput;
  const auto layers = network.architecture->layers;
  const auto shapes = nn::SequenceShapes(shape, layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const SequenceLayer& layer = layers[i];
    const float range = network.activation_range[i + 1];
    if (layer.kind == SequenceLayerKind::kMaxPool) {
      trained.layers.back().shape.pool = true;
      trained.layers.back().range = range;
    } else if (layer.kind != SequenceLayerKind::kMean) {
      const bool dense = layer.kind == SequenceLayerKind::kDense;
      const bool mean = i > 0 && layers[i - 1].kind == SequenceLayerKind::kMean;
      std::vector<float> weights = TensorOf(network, layout, layer, ".weight");
      trained.layers.push_back({.shape = {.channels = shape.channels,
                                          .positions = shape.length,
                                          .taps = dense ? shape.length : layer.size,
                                          .outputs = layer.outputs,
                                          .pool = false},
                                .weights = mean ? SpreadOver(weights, shape.length) : std::move(weights),
                                .bias = TensorOf(network, layout, layer, ".bias"),
                                .range = range});
    }
    // The layer behind a mean sees the positions before it.
    if (layer.kind != SequenceLayerKind::kMean) shape = shapes[i];
  }
  return trained;
}

}  // namespace tributary::fpga
