#include "node/learner/learner_state.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "core/parameters/crc32c.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::learner {
namespace {

constexpr const char* kKind = "tributary-learner-2";
constexpr const char* kIndices = "buffer.index";
constexpr const char* kNovelties = "buffer.novelty";

void Put(parameters::TensorSet& set, const char* name, std::span<const float> values) {
  if (values.empty()) return;
  const std::uint64_t shape[] = {values.size()};
  set.tensors[name] = parameters::FloatTensor(shape, values);
}

absl::Status Get(const parameters::TensorSet& set, const char* name, std::vector<float>& values) {
  const auto entry = set.tensors.find(name);
  if (entry == set.tensors.end()) return absl::OkStatus();
  ASSIGN_OR_RETURN(values, parameters::FloatValues(name, entry->second, entry->second.shape));
  return absl::OkStatus();
}

// A novelty is a float that was widened.
void PutBuffer(parameters::TensorSet& set, std::span<const images::KeptImage> buffer) {
  if (buffer.empty()) return;
  std::vector<std::uint32_t> indices;
  std::vector<float> novelties;
  for (const images::KeptImage& each : buffer) {
    indices.push_back(each.index);
    novelties.push_back(static_cast<float>(each.novelty));
  }
  parameters::Tensor tensor{parameters::ElementType::kInt32, {indices.size()}, {}};
  const auto bytes = std::as_bytes(std::span(indices));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  set.tensors[kIndices] = std::move(tensor);
  Put(set, kNovelties, novelties);
}

absl::Status GetBuffer(const parameters::TensorSet& set, std::vector<images::KeptImage>& buffer) {
  std::vector<float> novelties;
  RETURN_IF_ERROR(Get(set, kNovelties, novelties));
  const auto entry = set.tensors.find(kIndices);
  const bool fits = entry == set.tensors.end()
                        ? novelties.empty()
                        : entry->second.type == parameters::ElementType::kInt32 &&
                              entry->second.bytes.size() == novelties.size() * sizeof(std::uint32_t);
  if (!fits) return absl::DataLossError("the images and the novelties that were kept do not fit");
  buffer.resize(novelties.size());
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    std::memcpy(&buffer[i].index, entry->second.bytes.data() + i * sizeof(std::uint32_t),
                sizeof(std::uint32_t));
    buffer[i].novelty = novelties[i];
  }
  return absl::OkStatus();
}

std::string Checksum(const parameters::TensorSet& set) {
  std::uint32_t crc = 0;
  for (const auto& [name, tensor] : set.tensors) {
    crc = parameters::Crc32c(name, crc);
    crc = parameters::Crc32c({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}, crc);
  }
  return fmt::format("{:08x}", crc);
}

}  // namespace

std::string EncodeLearnerState(const LearnerState& state) {
  parameters::TensorSet set;
  Put(set, "residual", state.residual);
  Put(set, "local", state.local);
  Put(set, "target", state.target);
  PutBuffer(set, state.buffer);
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
  RETURN_IF_ERROR(Get(set, "residual", state.residual));
  RETURN_IF_ERROR(Get(set, "local", state.local));
  RETURN_IF_ERROR(Get(set, "target", state.target));
  RETURN_IF_ERROR(GetBuffer(set, state.buffer));
  return state;
}

}  // namespace tributary::learner
