#include "node/panel_factory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "node/workload/positioning.h"

namespace tributary {
namespace {

absl::StatusOr<std::unique_ptr<Source>> MakeSource(const RoomSource::Options& options, const Clock& clock) {
  return RoomSource::Create(options, clock);
}

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const PanelConfig& config,
                                                       const PositioningNetwork& network) {
  AcceleratorConfig accelerator;
  accelerator.kind = config.accelerator;
  accelerator.format = config.format;
  absl::StatusOr<std::unique_ptr<Accelerator>> created = CreateAccelerator(accelerator, network);
  if (!created.ok()) return created.status();
  return PositioningWorkload::Create(*std::move(created), {config.x_m, config.y_m, config.orientation_deg},
                                     network.covariance_scale);
}

absl::Status Named(const PanelConfig& config, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("panel ", config.name, ": ", status.message()));
}

}  // namespace

absl::StatusOr<PanelParts> MakePanelParts(const PanelConfig& config, const Model& model, const Clock& clock) {
  auto workload =
      std::visit([&](const auto& network) { return MakeWorkload(config, network); }, model.network);
  if (!workload.ok()) return Named(config, workload.status());
  auto source = std::visit([&](const auto& options) { return MakeSource(options, clock); }, config.source);
  if (!source.ok()) return Named(config, source.status());
  return PanelParts{*std::move(source), *std::move(workload)};
}

}  // namespace tributary
