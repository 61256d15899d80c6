#include "node/panel/panel_factory.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/parameters/npy.h"
#include "core/runtime/file.h"
#include "core/scene/room.h"
#include "node/workload/beacon.h"
#include "node/workload/positioning.h"

namespace tributary {
namespace {

std::size_t InputWidth(const Model& model) {
  return std::visit([](const auto& network) { return std::decay_t<decltype(network)>::kInputs; },
                    model.network);
}

using Opened = absl::StatusOr<std::unique_ptr<Source>>;

absl::Status InFile(const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
}

Opened MakeSource(const RoomSource::Options& options, const Model& model, const Clock& clock) {
  if (InputWidth(model) == kChannelFeatures) return RoomSource::Create(options, clock);
  return absl::InvalidArgumentError(absl::StrCat("kind: a room gives ", kChannelFeatures,
                                                 " features, the model takes ", InputWidth(model)));
}

absl::Status CheckShape(const NpyArray& recording, const Model& model) {
  if (recording.shape.empty()) return absl::OkStatus();  // the source's own fault
  if (recording.shape.back() != InputWidth(model)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", recording.shape.back(), " features, the model takes ", InputWidth(model)));
  }
  if (recording.shape.size() == 3 && recording.shape[1] > static_cast<std::uint64_t>(kMaxSubjects)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", recording.shape[1], " subjects, at most ", kMaxSubjects, " are taken"));
  }
  return absl::OkStatus();
}

Opened MakeSource(const ReplayConfig& config, const Model& model, const Clock& clock) {
  const absl::StatusOr<std::string> bytes = ReadFile(config.file);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<NpyArray> recording = DecodeNpy(*bytes);
  if (!recording.ok()) return InFile(config.file, recording.status());
  const absl::Status shape = CheckShape(*recording, model);
  auto source = ReplaySource::Create(*std::move(recording), config.options, clock);
  if (!source.ok() && absl::StartsWith(source.status().message(), "rate_hz")) return source;
  if (!source.ok()) return InFile(config.file, source.status());
  if (!shape.ok()) return InFile(config.file, shape);
  return source;
}

Opened MakeSource(const RangesConfig& config, const Model& model, const Clock& clock) {
  RangesSourceOptions options = config.options;
  const auto* network = std::get_if<BeaconNetwork>(&model.network);
  if (network == nullptr) return absl::InvalidArgumentError("kind: ranges are for the workload beacon");
  if (!config.triple_given) {
    options.anchors = network->anchors;
    options.tag = network->tag;
  } else if (options.anchors != network->anchors || options.tag != network->tag) {
    return absl::InvalidArgumentError(absl::StrCat(
        "anchors: the model was trained on anchors ", absl::StrJoin(network->anchors, ","), " and tag ",
        network->tag, ", the source has ", absl::StrJoin(options.anchors, ","), " and ", options.tag));
  }
  const absl::StatusOr<std::string> csv = ReadFile(config.file);
  if (!csv.ok()) return csv.status();
  absl::StatusOr<std::vector<RangeRow>> rows = ParseRanges(*csv);
  if (!rows.ok()) return InFile(config.file, rows.status());
  return RangesSource::Create(std::make_shared<const std::vector<RangeRow>>(*std::move(rows)), options,
                              clock);
}

// Its addresses were checked where they were read.
Opened MakeSource(const UdpSourceOptions&, const Model&, const Clock&) { return nullptr; }

Opened BindSource(const UdpSourceOptions& options, const Model& model, const Clock& clock) {
  UdpSourceOptions fitted = options;
  fitted.assembler.width = static_cast<std::uint16_t>(InputWidth(model));
  return UdpSource::Create(fitted, clock);
}

AcceleratorConfig AcceleratorOf(const AcceleratorChoice& choice) {
  AcceleratorConfig accelerator;
  accelerator.kind = choice.kind;
  accelerator.xrt = choice.xrt;
  accelerator.max_batch = static_cast<std::size_t>(kMaxSubjects);
  return accelerator;
}

AcceleratorConfig AcceleratorOf(const PanelConfig& config) {
  AcceleratorConfig accelerator = AcceleratorOf(config.accelerator);
  accelerator.format = config.format;
  return accelerator;
}

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const PanelConfig& config,
                                                       const PositioningNetwork& network) {
  absl::StatusOr<std::unique_ptr<Accelerator>> accelerator =
      CreateAccelerator(AcceleratorOf(config), network);
  if (!accelerator.ok()) return accelerator.status();
  return PositioningWorkload::Create(
      *std::move(accelerator), {config.x_m, config.y_m, config.orientation_deg}, network.covariance_scale);
}

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const PanelConfig& config,
                                                       const BeaconNetwork& network) {
  absl::StatusOr<std::unique_ptr<Accelerator>> accelerator =
      CreateAccelerator(AcceleratorOf(config), network);
  if (!accelerator.ok()) return accelerator.status();
  return BeaconWorkload::Create(*std::move(accelerator), network);
}

absl::Status Named(const PanelConfig& config, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("panel ", config.name, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> PrepareSource(const PanelConfig& config, const Model& model,
                                                      const Clock& clock) {
  return std::visit([&](const auto& options) { return MakeSource(options, model, clock); }, config.source);
}

absl::StatusOr<std::unique_ptr<Workload>> PrepareWorkload(const PanelConfig& config, const Model& model) {
  const auto prepare = [&](const auto& network) -> absl::StatusOr<std::unique_ptr<Workload>> {
    if (absl::Status status = CheckAccelerator(AcceleratorOf(config), network); !status.ok()) return status;
    if (config.accelerator.kind == AcceleratorKind::kXrt) return nullptr;
    return MakeWorkload(config, network);
  };
  return std::visit(prepare, model.network);
}

absl::StatusOr<PanelParts> OpenParts(const PanelConfig& config, const Model& model, PreparedPanel prepared,
                                     const Clock& clock) {
  if (prepared.workload == nullptr) {
    auto workload =
        std::visit([&](const auto& network) { return MakeWorkload(config, network); }, model.network);
    if (!workload.ok()) return Named(config, workload.status());
    prepared.workload = *std::move(workload);
  }
  if (prepared.source == nullptr) {
    auto source = BindSource(std::get<UdpSourceOptions>(config.source), model, clock);
    if (!source.ok()) return Named(config, source.status());
    prepared.source = *std::move(source);
  }
  return PanelParts{std::move(prepared.source), std::move(prepared.workload)};
}

absl::StatusOr<PanelParts> ReopenParts(const PanelConfig& config, const Model& model, const Clock& clock) {
  auto workload = PrepareWorkload(config, model);
  if (!workload.ok()) return Named(config, workload.status());
  auto source = PrepareSource(config, model, clock);
  if (!source.ok()) return Named(config, source.status());
  return OpenParts(config, model, {*std::move(source), *std::move(workload)}, clock);
}

absl::StatusOr<std::unique_ptr<Accelerator>> MakeFusionAccelerator(const FusionConfig& config,
                                                                   const std::vector<PanelParts>& panels) {
  for (const PanelParts& panel : panels) {
    if (panel.workload->dimension() != 2) {
      return absl::InvalidArgumentError("fusion: the panels' tuples must be two-dimensional");
    }
  }
  auto accelerator = CreateFusion(AcceleratorOf(config.accelerator), panels.size());
  if (accelerator.ok()) return accelerator;
  return absl::Status(accelerator.status().code(), absl::StrCat("fusion: ", accelerator.status().message()));
}

}  // namespace tributary
