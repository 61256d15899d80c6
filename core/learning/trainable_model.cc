#include "core/learning/trainable_model.h"

#include <fmt/format.h>

#include <string>

#include "core/nn/encoder/encoder_file.h"

namespace tributary::learning {

absl::Status CheckTrainable(const v1::ClientSettings& client, const parameters::TensorSet& model) {
  const auto format = model.metadata.find("format");
  if (format == model.metadata.end() || !format->second.starts_with("tributary-")) return absl::OkStatus();
  const absl::Status encoder = nn::EncoderFromTensors(model).status();
  if (encoder.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the workload {} trains encoders, and this model of format \"{}\" is none: {}",
                  client.workload(), format->second, std::string(encoder.message())));
}

}  // namespace tributary::learning
