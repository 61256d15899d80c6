#include "node/learner_state.h"

#include <cstdint>

#include "core/parameters/safetensors.h"

namespace tributary {
namespace {

constexpr const char* kKind = "tributary-learner-1";

void Put(TensorSet& set, const char* name, std::span<const float> values) {
  if (values.empty()) return;
  const std::uint64_t shape[] = {values.size()};
  set.tensors[name] = FloatTensor(shape, values);
}

absl::Status Get(const TensorSet& set, const char* name, std::vector<float>& values) {
  const auto entry = set.tensors.find(name);
  if (entry == set.tensors.end()) return absl::OkStatus();
  auto read = FloatValues(name, entry->second, entry->second.shape);
  if (!read.ok()) return read.status();
  values = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

std::string EncodeLearnerState(const LearnerState& state) {
  TensorSet set;
  set.metadata = {{"kind", kKind}, {"run", state.run}};
  Put(set, "residual", state.residual);
  Put(set, "local", state.local);
  return EncodeSafetensors(set);
}

absl::StatusOr<LearnerState> DecodeLearnerState(std::string_view file) {
  const auto set = DecodeSafetensors(file);
  if (!set.ok()) return set.status();
  const auto kind = set->metadata.find("kind"), run = set->metadata.find("run");
  if (kind == set->metadata.end() || kind->second != kKind || run == set->metadata.end()) {
    return absl::InvalidArgumentError("not the state of a learner");
  }
  LearnerState state;
  state.run = run->second;
  if (absl::Status status = Get(*set, "residual", state.residual); !status.ok()) return status;
  if (absl::Status status = Get(*set, "local", state.local); !status.ok()) return status;
  return state;
}

}  // namespace tributary
