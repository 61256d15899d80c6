#include "node/panel/model_file.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/runtime/file.h"

namespace tributary::panel {
namespace {

// A model is about 1 MB; a file a hundred times as large is something else.
constexpr std::size_t kMaxModelBytes = std::size_t{128} << 20;

absl::Status WithRemedy(const absl::Status& status, const std::string& path, const char* kind) {
  return absl::Status(status.code(), absl::StrCat("model ", path, ": ", status.message(),
                                                  "; make one with `tributary train ", kind, "`"));
}

template <typename Network>
absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& path, const char* kind,
                                                  absl::StatusOr<Network> (*decode)(std::string_view)) {
  const absl::StatusOr<std::string> bytes = runtime::ReadFile(path, kMaxModelBytes);
  if (!bytes.ok()) return WithRemedy(bytes.status(), path, kind);
  absl::StatusOr<Network> network = decode(*bytes);
  if (!network.ok()) return WithRemedy(network.status(), path, kind);
  auto model = std::make_shared<Model>();
  model->identity = {network->name, network->version, absl::HexStringToBytes(network->sha256)};
  model->network = *std::move(network);
  return model;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> LoadModel(WorkloadKind kind, const std::string& path) {
  switch (kind) {
    case WorkloadKind::kPositioning:
      return Load(path, "positioning", nn::DecodePositioning);
    case WorkloadKind::kBeacon:
      return Load(path, "beacon", nn::DecodeBeacon);
  }
  return absl::InternalError("no such workload");
}

}  // namespace tributary::panel
