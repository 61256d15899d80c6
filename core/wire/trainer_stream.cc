#include "core/wire/trainer_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/learning/client_settings.h"
#include "core/parameters/update_encoding.h"

namespace tributary::wire {
namespace {

// Every target is little-endian.
static_assert(sizeof(float) == 4);

// A setting has the same name in both.
void CopySettings(const v1::ClientSettings& settings, v1::TrainerTask& task) {
  using google::protobuf::FieldDescriptor;
  const auto& from = *settings.GetReflection();
  const auto& to = *task.GetReflection();
  for (int i = 0; i < v1::TrainerTask::descriptor()->field_count(); ++i) {
    const FieldDescriptor* field = v1::TrainerTask::descriptor()->field(i);
    const FieldDescriptor* setting = v1::ClientSettings::descriptor()->FindFieldByName(field->name());
    if (setting == nullptr || setting->cpp_type() != field->cpp_type()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      to.SetDouble(&task, field, from.GetDouble(settings, setting));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      to.SetUInt32(&task, field, from.GetUInt32(settings, setting));
    }
  }
}

}  // namespace

absl::Status CheckDescription(const v1::DescribeTrainerResponse& said) {
  if (said.name().empty() || !learning::IsPlainName(said.name())) {
    return absl::InvalidArgumentError("name must be 1 to 64 letters, digits, '-', '_' or '.'");
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  if (said.sample_count() >= 1 && said.sample_count() <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("sample_count must be from 1 to {}, found {}", kMost, said.sample_count()));
}

v1::TrainerTask TrainerTaskToWire(const TrainTask& task, std::uint64_t seed,
                                  std::span<const parameters::TensorShape> tensors) {
  v1::TrainerTask wire;
  CopySettings(task.train.settings(), wire);
  wire.set_run(task.run);
  wire.set_round(task.round);
  wire.set_seed(seed);
  for (const parameters::TensorShape& each : tensors) {
    v1::TrainerTensor& tensor = *wire.add_tensors();
    tensor.set_name(each.name);
    tensor.mutable_shape()->Assign(each.shape.begin(), each.shape.end());
  }
  return wire;
}

v1::ParameterChunk ChunkToWire(std::span<const float> values, std::size_t offset) {
  const std::size_t count = std::min(values.size() - offset, parameters::kMaxChunkBytes / sizeof(float));
  v1::ParameterChunk chunk;
  chunk.set_offset(offset);
  chunk.set_values(reinterpret_cast<const char*>(values.data() + offset), count * sizeof(float));
  return chunk;
}

absl::Status TrainedParameters::Take(const v1::TrainResponse& response) {
  if (done_) return absl::InvalidArgumentError("a message follows `done`");
  switch (response.part_case()) {
    case v1::TrainResponse::kProgress:
      return absl::OkStatus();
    case v1::TrainResponse::kChunk:
      return TakeChunk(response.chunk());
    case v1::TrainResponse::kDone:
      break;
    case v1::TrainResponse::PART_NOT_SET:
      return absl::InvalidArgumentError("an empty message");
  }
  if (taken_ != values_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("done after {} parameters, the model has {}", taken_, values_.size()));
  }
  result_ = response.done();
  if (!std::isfinite(result_.loss())) return absl::OutOfRangeError("the loss is not a finite number");
  if (result_.has_held_out_accuracy() &&
      !(result_.held_out_accuracy() >= 0 && result_.held_out_accuracy() <= 1)) {
    return absl::InvalidArgumentError("held_out_accuracy must be from 0 to 1");
  }
  done_ = true;
  return absl::OkStatus();
}

absl::Status TrainedParameters::TakeChunk(const v1::ParameterChunk& chunk) {
  const std::size_t bytes = chunk.values().size();
  if (chunk.offset() != taken_) {
    return absl::InvalidArgumentError(
        fmt::format("a chunk at parameter {}, expected the one at {}", chunk.offset(), taken_));
  }
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > parameters::kMaxChunkBytes) {
    return absl::InvalidArgumentError(
        fmt::format("a chunk of {} bytes, expected whole float32 values, at most {} bytes", bytes,
                    parameters::kMaxChunkBytes));
  }
  const std::size_t count = bytes / sizeof(float);
  if (count > values_.size() - taken_) {
    return absl::InvalidArgumentError(
        fmt::format("{} parameters, the model has {}", taken_ + count, values_.size()));
  }
  const std::span<float> part = values_.subspan(taken_, count);
  std::memcpy(part.data(), chunk.values().data(), bytes);
  if (!std::ranges::all_of(part, [](float value) { return std::isfinite(value); })) {
    return absl::OutOfRangeError("a trained parameter is not a finite number");
  }
  taken_ += count;
  return absl::OkStatus();
}

}  // namespace tributary::wire
