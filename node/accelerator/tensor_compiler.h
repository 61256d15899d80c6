// From quantised layers to a program of the tensor unit.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/quantised/quantised_layer.h"
#include "fpga/model/tensor_program.h"

namespace tributary::accelerator {

// Where a tensor lies in a buffer, for one image.
struct TensorPlace {
  int tensor = graph::kAbsent;  // place in the section
  std::uint32_t word = 0, words = 0;
  std::uint32_t channels = 0, pixels = 0;

  bool operator==(const TensorPlace&) const = default;
};

// Computes a section for one image; a batch is one run for each.
struct TensorProgram {
  std::vector<std::uint64_t> words;
  std::vector<TensorPlace> inputs, outputs;  // in the section's order
  std::uint32_t input_words = 0, output_words = 0;
  std::uint32_t images = 1;
  std::vector<std::uint64_t> layer_cycles;  // of each layer, for one image; 0: done along with another layer
  std::uint64_t transfer_cycles = 0;
};

// All tensors stay in the activation memory; the sum of a layer's result and another tensor is part of that
// layer's command where nobody else reads the result. Errors: ResourceExhausted if the tensors that live at
// one time do not fit, naming the layer, or if the program would take more than `most_words`, before it is
// written; InvalidArgument for tensors of different batches; what the program's check finds.
absl::StatusOr<TensorProgram> CompileForTensorUnit(const graph::QuantisedSection& section,
                                                   const fpga::TensorUnitSize& size,
                                                   std::uint64_t most_words);

}  // namespace tributary::accelerator
