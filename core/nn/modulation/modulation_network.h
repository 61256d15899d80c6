// The networks for modulation recognition as trained, and their file: tensors and metadata of a safetensors
// file. Pure over bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/network_file.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/nn/kernel/sequence_stack.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

// A burst: 128 in-phase samples, then 128 quadrature samples, scaled to a mean power of one.
inline constexpr SequenceShape kModulationInput = {2, 128};
inline constexpr std::size_t kModulationClasses = 10;

// Its last layer gives a logit for each class.
struct ModulationArchitecture {
  std::string_view name;
  std::span<const SequenceLayer> layers;
  // A batch norm behind each convolution while the network is trained from random weights; then it is folded
  // into weights and bias.
  bool trained_with_norms = false;

  std::vector<parameters::TensorShape> tensors() const { return SequenceTensors(kModulationInput, layers); }
};

// "table4": the network of [MOD], table 4; "compact" and "deep": at most 10,000 parameters. They live as long
// as the program.
std::span<const ModulationArchitecture> ModulationArchitectures();
// Null for another name.
const ModulationArchitecture* FindModulationArchitecture(std::string_view name);

struct ModulationNetwork : Provenance {
  const ModulationArchitecture* architecture = &ModulationArchitectures().front();
  std::vector<std::string> classes;  // in the order of the logits
  std::vector<float> parameters;     // as ParameterLayout(architecture->tensors()) has them

  // log-probabilities = log_softmax(logits / temperature). Fitted on held-out bursts.
  float temperature = 1.0f;

  // Largest magnitude seen on held-out bursts: of the input, then of each layer's result. Fixed-point formats
  // choose their scales from these.
  std::vector<float> activation_range;
};

// As a safetensors file. Tensors (float32): those of the architecture; calibration.temperature [1] and
// calibration.activation_range [layers + 1]. The identity covers all of them.
//
// Metadata: kind "modulation", network (the architecture's name), classes with commas between them, name,
// version, training_set; the rest describes the conventions: format, input, outputs.
std::string EncodeModulation(const ModulationNetwork& network);

// Fills sha256 (ParameterIdentity, hexadecimal). Errors: InvalidArgument for another kind, convention,
// architecture, tensor, shape or type, for values that are not finite, a temperature or a range that is not
// positive, and for classes that are not ten different names.
absl::StatusOr<ModulationNetwork> ModulationFromTensors(const parameters::TensorSet& set);
// The file. Errors: DataLoss as DecodeSafetensors; those of ModulationFromTensors.
absl::StatusOr<ModulationNetwork> DecodeModulation(std::string_view file);

// The tensors that EncodeModulation writes.
parameters::TensorSet ModulationTensors(const ModulationNetwork& network);

}  // namespace tributary::nn
