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

namespace tributary::panel {
namespace {

std::size_t InputWidth(const Model& model) {
  return std::visit([](const auto& network) { return std::decay_t<decltype(network)>::kInputs; },
                    model.network);
}

using Opened = absl::StatusOr<std::unique_ptr<source::Source>>;

absl::Status InFile(const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
}

Opened MakeSource(const source::RoomSource::Options& options, const Model& model,
                  const runtime::Clock& clock) {
  if (InputWidth(model) == scene::kChannelFeatures) return source::RoomSource::Create(options, clock);
  return absl::InvalidArgumentError(absl::StrCat("kind: a room gives ", scene::kChannelFeatures,
                                                 " features, the model takes ", InputWidth(model)));
}

absl::Status CheckShape(const parameters::NpyArray& recording, const Model& model) {
  if (recording.shape.empty()) return absl::OkStatus();  // the source's own error
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

Opened MakeSource(const ReplayConfig& config, const Model& model, const runtime::Clock& clock) {
  const absl::StatusOr<std::string> bytes = runtime::ReadFile(config.file);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<parameters::NpyArray> recording = parameters::DecodeNpy(*bytes);
  if (!recording.ok()) return InFile(config.file, recording.status());
  const absl::Status shape = CheckShape(*recording, model);
  auto source = source::ReplaySource::Create(*std::move(recording), config.options, clock);
  if (!source.ok() && absl::StartsWith(source.status().message(), "rate_hz")) return source;
  if (!source.ok()) return InFile(config.file, source.status());
  if (!shape.ok()) return InFile(config.file, shape);
  return source;
}

Opened MakeSource(const RangesConfig& config, const Model& model, const runtime::Clock& clock) {
  source::RangesSourceOptions options = config.options;
  const auto* network = std::get_if<nn::BeaconNetwork>(&model.network);
  if (network == nullptr) return absl::InvalidArgumentError("kind: ranges are for the workload beacon");
  if (!config.triple_given) {
    options.anchors = network->anchors;
    options.tag = network->tag;
  } else if (options.anchors != network->anchors || options.tag != network->tag) {
    return absl::InvalidArgumentError(absl::StrCat(
        "anchors: the model was trained on anchors ", absl::StrJoin(network->anchors, ","), " and tag ",
        network->tag, ", the source has ", absl::StrJoin(options.anchors, ","), " and ", options.tag));
  }
  const absl::StatusOr<std::string> csv = runtime::ReadFile(config.file);
  if (!csv.ok()) return csv.status();
  absl::StatusOr<std::vector<scene::RangeRow>> rows = scene::ParseRanges(*csv);
  if (!rows.ok()) return InFile(config.file, rows.status());
  return source::RangesSource::Create(std::make_shared<const std::vector<scene::RangeRow>>(*std::move(rows)),
                                      options, clock);
}

// Its addresses were checked where they were read.
Opened MakeSource(const source::UdpSourceOptions&, const Model&, const runtime::Clock&) { return nullptr; }

Opened BindSource(const source::UdpSourceOptions& options, const Model& model, const runtime::Clock& clock) {
  source::UdpSourceOptions fitted = options;
  fitted.assembler.width = static_cast<std::uint16_t>(InputWidth(model));
  return source::UdpSource::Create(fitted, clock);
}

accelerator::AcceleratorConfig AcceleratorOf(const AcceleratorChoice& choice) {
  accelerator::AcceleratorConfig accelerator;
  accelerator.kind = choice.kind;
  accelerator.xrt = choice.xrt;
  accelerator.max_batch = static_cast<std::size_t>(kMaxSubjects);
  return accelerator;
}

accelerator::AcceleratorConfig AcceleratorOf(const PanelConfig& config) {
  accelerator::AcceleratorConfig accelerator = AcceleratorOf(config.accelerator);
  accelerator.format = config.format;
  return accelerator;
}

absl::StatusOr<std::unique_ptr<workload::Workload>> MakeWorkload(const PanelConfig& config,
                                                                 const nn::PositioningNetwork& network) {
  absl::StatusOr<std::unique_ptr<accelerator::Accelerator>> accelerator =
      accelerator::CreateAccelerator(AcceleratorOf(config), network);
  if (!accelerator.ok()) return accelerator.status();
  return workload::PositioningWorkload::Create(
      *std::move(accelerator), {config.x_m, config.y_m, config.orientation_deg}, network.covariance_scale);
}

absl::StatusOr<std::unique_ptr<workload::Workload>> MakeWorkload(const PanelConfig& config,
                                                                 const nn::BeaconNetwork& network) {
  absl::StatusOr<std::unique_ptr<accelerator::Accelerator>> accelerator =
      accelerator::CreateAccelerator(AcceleratorOf(config), network);
  if (!accelerator.ok()) return accelerator.status();
  return workload::BeaconWorkload::Create(*std::move(accelerator), network);
}

absl::Status Named(const PanelConfig& config, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("panel ", config.name, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<source::Source>> PrepareSource(const PanelConfig& config, const Model& model,
                                                              const runtime::Clock& clock) {
  return std::visit([&](const auto& options) { return MakeSource(options, model, clock); }, config.source);
}

absl::StatusOr<std::unique_ptr<workload::Workload>> PrepareWorkload(const PanelConfig& config,
                                                                    const Model& model) {
  const auto prepare = [&](const auto& network) -> absl::StatusOr<std::unique_ptr<workload::Workload>> {
    if (absl::Status status = accelerator::CheckAccelerator(AcceleratorOf(config), network); !status.ok())
      return status;
    if (config.accelerator.kind == accelerator::AcceleratorKind::kXrt) return nullptr;
    return MakeWorkload(config, network);
  };
  return std::visit(prepare, model.network);
}

absl::StatusOr<PanelParts> OpenParts(const PanelConfig& config, const Model& model, PreparedPanel prepared,
                                     const runtime::Clock& clock) {
  if (prepared.workload == nullptr) {
    auto workload =
        std::visit([&](const auto& network) { return MakeWorkload(config, network); }, model.network);
    if (!workload.ok()) return Named(config, workload.status());
    prepared.workload = *std::move(workload);
  }
  if (prepared.source == nullptr) {
    auto source = BindSource(std::get<source::UdpSourceOptions>(config.source), model, clock);
    if (!source.ok()) return Named(config, source.status());
    prepared.source = *std::move(source);
  }
  return PanelParts{std::move(prepared.source), std::move(prepared.workload)};
}

absl::StatusOr<PanelParts> ReopenParts(const PanelConfig& config, const Model& model,
                                       const runtime::Clock& clock) {
  auto workload = PrepareWorkload(config, model);
  if (!workload.ok()) return Named(config, workload.status());
  auto source = PrepareSource(config, model, clock);
  if (!source.ok()) return Named(config, source.status());
  return OpenParts(config, model, {*std::move(source), *std::move(workload)}, clock);
}

absl::StatusOr<std::unique_ptr<accelerator::Accelerator>> MakeFusionAccelerator(
    const node::FusionConfig& config, const std::vector<PanelParts>& panels) {
  for (const PanelParts& panel : panels) {
    if (panel.workload->dimension() != 2) {
      return absl::InvalidArgumentError("fusion: the panels' tuples must be two-dimensional");
    }
  }
  auto accelerator = accelerator::CreateFusion(AcceleratorOf(config.accelerator), panels.size());
  if (accelerator.ok()) return accelerator;
  return absl::Status(accelerator.status().code(), absl::StrCat("fusion: ", accelerator.status().message()));
}

}  // namespace tributary::panel
