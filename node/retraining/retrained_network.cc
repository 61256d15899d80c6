#include "node/retraining/retrained_network.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::retraining {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // a network takes some 17 kB

std::string RetrainedFrom(const nn::BeaconNetwork& model) {
  return absl::StrCat("retrained from ", model.sha256);
}

}  // namespace

absl::Status SaveRetrained(const std::string& path, nn::BeaconNetwork network,
                           const nn::BeaconNetwork& model) {
  network.training_set = RetrainedFrom(model);
  return runtime::WriteFileAtomically(path, nn::EncodeBeacon(network));
}

absl::StatusOr<std::optional<nn::BeaconNetwork>> LoadRetrained(const std::string& path,
                                                               const nn::BeaconNetwork& model) {
  const absl::StatusOr<std::string> bytes = runtime::ReadFile(path, kMostBytes);
  if (absl::IsNotFound(bytes.status())) return std::nullopt;
  RETURN_IF_ERROR(bytes.status());
  auto network = nn::DecodeBeacon(*bytes);
  if (!network.ok()) return WithContext(path, network.status());
  if (network->training_set != RetrainedFrom(model)) return std::nullopt;
  return *std::move(network);
}

}  // namespace tributary::retraining
