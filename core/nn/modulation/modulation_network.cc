#include "core/nn/modulation/modulation_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr Convention kModulationConventions[] = {
    {"kind", "modulation"},
    {"format", "float32"},
    {"input", "128 in-phase samples, then 128 quadrature samples; scaled to a mean power of 1"},
    {"outputs", "logits; log-probabilities = log_softmax(logits / calibration.temperature)"},
};

// Every tensor of the file and the member that holds it, for both directions.
template <class Network, class Visit>
void VisitModulationTensors(Network& network, Visit visit) {
  const ParameterLayout layout(network.architecture->tensors());
  for (const parameters::TensorShape& tensor : layout.tensors()) {
    visit(tensor.name, tensor.shape, layout.Range(tensor.name).Of(std::span(network.parameters)));
  }
  visit("calibration.temperature", Shape{1}, std::span(&network.temperature, 1));
  visit("calibration.activation_range", Shape{network.architecture->layers.size() + 1},
        network.activation_range);
}

absl::Status ReadArchitecture(const parameters::TensorSet& set, ModulationNetwork& network) {
  const std::string name = MetadataOf(set, "network");
  network.architecture = FindModulationArchitecture(name);
  if (network.architecture == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "there is no modulation network \"{}\"; known are {}", name,
        absl::StrJoin(ModulationArchitectures(), ", ",
                      [](std::string* out, const ModulationArchitecture& a) { out->append(a.name); })));
  }
  network.parameters.resize(ParameterLayout(network.architecture->tensors()).size());
  return absl::OkStatus();
}

absl::Status ReadClasses(const parameters::TensorSet& set, ModulationNetwork& network) {
  network.classes = absl::StrSplit(MetadataOf(set, "classes"), ',');
  const std::set<std::string> different(network.classes.begin(), network.classes.end());
  if (network.classes.size() == kModulationClasses && different.size() == kModulationClasses &&
      !different.contains("")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("metadata \"classes\" is not {} different names", kModulationClasses));
}

}  // namespace

parameters::TensorSet ModulationTensors(const ModulationNetwork& network) {
  parameters::TensorSet set;
  VisitModulationTensors(network, TensorWriter{set});
  WriteMetadata(kModulationConventions, network, set);
  set.metadata.emplace("network", network.architecture->name);
  set.metadata.emplace("classes", absl::StrJoin(network.classes, ","));
  return set;
}

std::string EncodeModulation(const ModulationNetwork& network) {
  return parameters::EncodeSafetensors(ModulationTensors(network));
}

absl::StatusOr<ModulationNetwork> ModulationFromTensors(const parameters::TensorSet& set) {
  ModulationNetwork network;
  RETURN_IF_ERROR(ReadMetadata(set, kModulationConventions, network));
  RETURN_IF_ERROR(ReadArchitecture(set, network));
  RETURN_IF_ERROR(ReadClasses(set, network));
  absl::Status status;
  std::size_t tensors = 0;
  VisitModulationTensors(network, [&](const std::string& name, const Shape& shape, auto&& values) {
    TensorReader{set, status}(name, shape, values);
    ++tensors;
  });
  RETURN_IF_ERROR(status);
  if (set.tensors.size() != tensors) {
    return absl::InvalidArgumentError(fmt::format("{} tensors, the network \"{}\" has {}", set.tensors.size(),
                                                  network.architecture->name, tensors));
  }
  if (!(network.temperature > 0)) {
    return absl::InvalidArgumentError("calibration.temperature is not positive");
  }
  if (!std::ranges::all_of(network.activation_range, [](float range) { return range > 0; })) {
    return absl::InvalidArgumentError("calibration.activation_range is not positive");
  }
  return network;
}

absl::StatusOr<ModulationNetwork> DecodeModulation(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  return ModulationFromTensors(set);
}

}  // namespace tributary::nn
