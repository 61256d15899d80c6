// The tensors of a run's model without their values: from the flat vector of a round to named tensors and
// back.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/parameters/tensor.h"

namespace tributary::learner {

class ModelOutline {
 public:
  ModelOutline() = default;
  explicit ModelOutline(const parameters::TensorSet& model) : metadata_(model.metadata) {
    for (const auto& [name, tensor] : model.tensors) schema_.push_back({name, tensor.shape});
  }

  // With these values, in the order of the names.
  parameters::TensorSet Model(std::span<const float> values) const {
    parameters::TensorSet model = nn::ToTensorSet(schema_, values);
    model.metadata = metadata_;
    return model;
  }
  // Errors: those of nn::FlatParameters, for a model of another outline.
  absl::StatusOr<std::vector<float>> Values(const parameters::TensorSet& model) const {
    return nn::FlatParameters(schema_, model);
  }

 private:
  std::vector<parameters::TensorShape> schema_;
  parameters::ModelMetadata metadata_;
};

// The network that `read` finds in the model. Noise of differential privacy can leave a calibration that no
// network may have; a round fits it anew, so that it can begin with ones.
template <class Read>
auto ReadLeniently(parameters::TensorSet model, Read read) {
  auto network = read(model);
  if (network.ok()) return network;
  for (auto& [name, tensor] : model.tensors) {
    if (!name.starts_with("calibration.") || tensor.type != parameters::ElementType::kFloat32) continue;
    const std::vector<float> ones(tensor.bytes.size() / sizeof(float), 1.0F);
    tensor = parameters::FloatTensor(tensor.shape, ones);
  }
  return read(model);
}

}  // namespace tributary::learner
