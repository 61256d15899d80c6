#include "cli/evaluate/beacon_model.h"

#include <utility>

#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {

absl::StatusOr<BeaconModel> DecodeBeaconModel(std::string_view file) {
  if (nn::IsRangeGeometry(file)) {
    ASSIGN_OR_RETURN(nn::RangeGeometry geometry, nn::DecodeRangeGeometry(file));
    return BeaconModel(std::move(geometry));
  }
  ASSIGN_OR_RETURN(nn::BeaconNetwork network, nn::DecodeBeacon(file));
  return BeaconModel(std::move(network));
}

absl::StatusOr<nn::BeaconNetwork> ReadBeaconNetwork(const std::string& path) {
  constexpr std::size_t kMaxBytes = 1 << 20;  // a network has 20 kB
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path, kMaxBytes));
  return WithContext(path, nn::DecodeBeacon(file));
}

std::string EncodeBeaconModel(const BeaconModel& model) {
  if (const auto* geometry = std::get_if<nn::RangeGeometry>(&model))
    return nn::EncodeRangeGeometry(*geometry);
  return nn::EncodeBeacon(std::get<nn::BeaconNetwork>(model));
}

const char* EstimatorOf(const BeaconModel& model) {
  return std::holds_alternative<nn::RangeGeometry>(model) ? "geometry" : "network";
}

const nn::Provenance& ProvenanceOf(const BeaconModel& model) {
  return std::visit([](const nn::Provenance& provenance) -> const nn::Provenance& { return provenance; },
                    model);
}

nn::Provenance& ProvenanceOf(BeaconModel& model) {
  return std::visit([](nn::Provenance& provenance) -> nn::Provenance& { return provenance; }, model);
}

std::span<const int> AnchorsOf(const BeaconModel& model) {
  return std::visit([](const auto& estimator) -> std::span<const int> { return estimator.anchors; }, model);
}

std::vector<int> TagsOf(const BeaconModel& model) {
  if (const auto* geometry = std::get_if<nn::RangeGeometry>(&model)) return geometry->tags;
  return {TagOf(model)};
}

int TagOf(const BeaconModel& model) {
  return std::visit([](const auto& estimator) { return estimator.tag; }, model);
}

}  // namespace tributary::cli
