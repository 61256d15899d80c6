#include "core/learning/trainable_model.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/learning/client_settings.h"
#include "core/nn/beacon/federated_beacon.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"

namespace tributary::learning {

namespace {

absl::Status CheckBeacon(const parameters::TensorSet& model, bool second_order) {
  const absl::StatusOr<nn::FederatedBeacon> beacon = nn::FederatedBeaconFromTensors(model);
  if (!beacon.ok()) {
    return absl::InvalidArgumentError(fmt::format("the workload beacon needs a federated beacon: {}",
                                                  std::string(beacon.status().message())));
  }
  if (beacon->second_order == second_order) return absl::OkStatus();
  return absl::InvalidArgumentError(second_order
                                        ? "the strategy levenberg_marquardt needs a second-order beacon"
                                        : "a second-order beacon needs the strategy levenberg_marquardt");
}

absl::Status CheckClassifier(const parameters::TensorSet& model, bool personal) {
  const absl::StatusOr<nn::ClassifierFile> classifier = nn::ClassifierFromTensors(model);
  if (!classifier.ok()) {
    return absl::InvalidArgumentError(fmt::format("the workload classifier needs a classifier: {}",
                                                  std::string(classifier.status().message())));
  }
  if (personal == (classifier->classes == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(personal ? "client.head is personal, and this model has a head to share"
                                             : "client.head is shared, and this model has no head");
}

// `read`: what reading the model as that network gave.
absl::Status CheckNetwork(std::string_view workload, const absl::Status& read) {
  if (read.ok()) return read;
  return absl::InvalidArgumentError(
      fmt::format("the workload {0} needs a {0} network: {1}", workload, std::string(read.message())));
}

}  // namespace

absl::Status CheckTrainable(const v1::ClientSettings& client, const parameters::TensorSet& model,
                            StrategyKind strategy) {
  if (client.workload() == kBeacon) {
    return CheckBeacon(model, strategy == StrategyKind::kLevenbergMarquardt);
  }
  if (client.workload() == kClassifier) return CheckClassifier(model, HasPersonalHeads(client));
  if (client.workload() == kModulation) {
    return CheckNetwork(kModulation, nn::ModulationFromTensors(model).status());
  }
  if (client.workload() == kPositioning) {
    return CheckNetwork(kPositioning, nn::PositioningFromTensors(model).status());
  }
  if (client.workload() == kExternal) return absl::OkStatus();  // the user's own
  const auto format = model.metadata.find("format");
  if (format == model.metadata.end() || !format->second.starts_with("tributary-")) return absl::OkStatus();
  const absl::StatusOr<nn::EncoderFile> read = nn::EncoderFromTensors(model);
  const absl::Status& encoder = read.status();
  if (encoder.ok() && client.method() != "simclr" && read->options.bottleneck == 0) {
    return absl::InvalidArgumentError(
        fmt::format("the method {} needs a model with a predictor, and this one has none", client.method()));
  }
  if (encoder.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the workload {} trains encoders, and this model of format \"{}\" is none: {}",
                  client.workload(), format->second, std::string(encoder.message())));
}

}  // namespace tributary::learning
