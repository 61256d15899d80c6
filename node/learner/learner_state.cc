#include "node/learner/learner_state.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "core/parameters/crc32c.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::learner {
namespace {

constexpr const char* kKind = "tributary-learner-2";
constexpr const char* kResidual = "residual";

std::string Checksum(const parameters::TensorSet& set) {
  std::uint32_t crc = 0;
  for (const auto& [name, tensor] : set.tensors) {
    crc = parameters::Crc32c(name, crc);
    crc = parameters::Crc32c({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}, crc);
  }
  return fmt::format("{:08x}", crc);
}

}  // namespace

std::string EncodeLearnerState(LearnerState state) {
  parameters::TensorSet set = std::move(state.trainer);
  if (!state.residual.empty()) {
    const std::uint64_t shape[] = {state.residual.size()};
    set.tensors[kResidual] = parameters::FloatTensor(shape, state.residual);
  }
  set.metadata = {{"kind", kKind}, {"run", state.run}, {"crc32c", Checksum(set)}};
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<LearnerState> DecodeLearnerState(std::string_view file) {
  ASSIGN_OR_RETURN(parameters::TensorSet set, parameters::DecodeSafetensors(file));
  const auto run = set.metadata.find("run");
  if (set.metadata["kind"] != kKind || run == set.metadata.end()) {
    return absl::InvalidArgumentError("not the state of a learner");
  }
  if (set.metadata["crc32c"] != Checksum(set)) {
    return absl::DataLossError("the state of the learner is damaged");
  }
  LearnerState state;
  state.run = run->second;
  if (const auto residual = set.tensors.extract(kResidual)) {
    const parameters::Tensor& tensor = residual.mapped();
    ASSIGN_OR_RETURN(state.residual, parameters::FloatValues(kResidual, tensor, tensor.shape));
  }
  state.trainer.tensors = std::move(set.tensors);
  return state;
}

}  // namespace tributary::learner
