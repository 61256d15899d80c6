#include "node/accelerator/tensor_schedule.h"

#include <utility>

#include "node/accelerator/tensor_support.h"

namespace tributary::accelerator {
namespace {

using graph::kAbsent;
using graph::LayerKind;
using graph::QuantisedLayer;
using graph::QuantisedSection;

std::size_t TensorIndex(int tensor) { return static_cast<std::size_t>(tensor); }

std::vector<int> NamesOf(const QuantisedSection& section) {
  std::vector<int> names;
  for (std::size_t t = 0; t < section.tensors.size(); ++t) names.push_back(static_cast<int>(t));
  for (const QuantisedLayer& layer : section.layers) {
    if (layer.kind == LayerKind::kMove) names[TensorIndex(layer.output)] = names[TensorIndex(layer.input)];
  }
  return names;
}

// The layers whose results are needed, and by how many.
class Producers {
 public:
  explicit Producers(const QuantisedSection& section)
      : section_(section),
        readers_(section.tensors.size()),
        producers_(section.tensors.size(), section.layers.size()) {
    for (std::size_t l = 0; l < section.layers.size(); ++l) {
      const QuantisedLayer& layer = section.layers[l];
      ++readers_[TensorIndex(layer.input)];
      if (layer.residual != kAbsent) ++readers_[TensorIndex(layer.residual)];
      producers_[TensorIndex(layer.output)] = l;
    }
    for (const int tensor : section.outputs) ++readers_[TensorIndex(tensor)];
  }

  std::size_t Of(int tensor) const { return producers_[TensorIndex(tensor)]; }

  // Whether the command that gives this tensor can add another one to it. A depthwise command adds nothing;
  // nor does one that adds already.
  bool CanAdd(int tensor) const {
    if (Of(tensor) == section_.layers.size() || readers_[TensorIndex(tensor)] != 1) return false;
    const QuantisedLayer& layer = section_.layers[Of(tensor)];
    return layer.residual == kAbsent && layer.kind != LayerKind::kMove &&
           !IsDepthwise(layer, section_.tensors[TensorIndex(layer.input)]);
  }

 private:
  const QuantisedSection& section_;
  std::vector<int> readers_;
  std::vector<std::size_t> producers_;
};

}  // namespace

TensorSchedule ScheduleOf(const QuantisedSection& section) {
  TensorSchedule schedule{.names = NamesOf(section), .work = {}};
  const Producers producers(section);
  std::vector<bool> taken(section.layers.size());
  std::vector<TensorWork> sums(section.layers.size());
  for (std::size_t l = 0; l < section.layers.size(); ++l) {
    const QuantisedLayer& layer = section.layers[l];
    if (layer.kind != LayerKind::kSum || layer.residual == kAbsent || layer.input == layer.residual) continue;
    for (const auto& [own, other] : {std::pair(layer.input, layer.residual), {layer.residual, layer.input}}) {
      if (!producers.CanAdd(own)) continue;
      const std::size_t producer = producers.Of(own);
      taken[producer] = true;
      sums[l] = {.layer = producer,
                 .sum = l,
                 .input = section.layers[producer].input,
                 .residual = other,
                 .output = layer.output};
      break;
    }
  }
  for (std::size_t l = 0; l < section.layers.size(); ++l) {
    const QuantisedLayer& layer = section.layers[l];
    if (taken[l] || layer.kind == LayerKind::kMove) continue;
    if (sums[l].sum.has_value()) {
      schedule.work.push_back(sums[l]);
    } else {
      schedule.work.push_back(
          {.layer = l, .input = layer.input, .residual = layer.residual, .output = layer.output});
    }
  }
  return schedule;
}

}  // namespace tributary::accelerator
