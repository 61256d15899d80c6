#include "core/nn/kernel/network_file.h"

#include <fmt/format.h>

#include <cmath>

#include "core/parameters/tensor.h"
#include "core/status/macros.h"

namespace tributary::nn {

std::string MetadataOf(const parameters::TensorSet& set, std::string_view key) {
  const auto found = set.metadata.find(key);
  return found == set.metadata.end() ? "" : found->second;
}

void WriteMetadata(Conventions conventions, const Provenance& provenance, parameters::TensorSet& set) {
  set.metadata.insert(conventions.begin(), conventions.end());
  set.metadata.emplace("name", provenance.name);
  set.metadata.emplace("version", provenance.version);
  set.metadata.emplace("training_set", provenance.training_set);
}

absl::Status ReadMetadata(const parameters::TensorSet& set, Conventions conventions, Provenance& provenance) {
  for (const auto& [key, expected] : conventions) {
    if (const std::string found = MetadataOf(set, key); found != expected) {
      return absl::InvalidArgumentError(
          fmt::format("not a {} model: metadata \"{}\" is \"{}\", expected \"{}\"",
                      conventions.front().second, key, found, expected));
    }
  }
  provenance = {.name = MetadataOf(set, "name"),
                .version = MetadataOf(set, "version"),
                .training_set = MetadataOf(set, "training_set"),
                .sha256 = parameters::HexOf(parameters::ParameterIdentity(set))};
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> FiniteValues(const parameters::TensorSet& set, const std::string& name,
                                                const Shape& shape) {
  const auto tensor = parameters::FindTensor(set, name);
  if (!tensor.ok()) return absl::InvalidArgumentError(tensor.status().message());
  ASSIGN_OR_RETURN(std::vector<float> values, parameters::FloatValues(name, **tensor, shape));
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return values;
  return absl::InvalidArgumentError(
      fmt::format("tensor \"{}\" is not finite at element {}", name, bad - values.begin()));
}

}  // namespace tributary::nn
