#include "node/panel/panel_factory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/images/image_set.h"
#include "core/parameters/npy.h"
#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/runtime/file.h"
#include "core/scene/room.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/survey/survey_file.h"
#include "node/retraining/renewed_beacon.h"
#include "node/retraining/retrained_network.h"
#include "node/source/burst_guard.h"
#include "node/source/burst_recording.h"
#include "node/workload/beacon_board.h"

namespace tributary::panel {
namespace {

// A model is about 1 MB; a file a hundred times as large is something else.
constexpr std::size_t kMaxModelBytes = std::size_t{128} << 20;
constexpr std::size_t kMaxRecordingBytes = std::size_t{1} << 30;

template <typename Network>
absl::StatusOr<std::shared_ptr<const Model>> ReadModel(const std::string& path,
                                                       absl::StatusOr<Network> (*decode)(std::string_view)) {
  ASSIGN_OR_RETURN(const std::string bytes, runtime::ReadFile(path, kMaxModelBytes));
  ASSIGN_OR_RETURN(Network network, decode(bytes));
  return std::make_shared<const Model>(std::move(network));
}

// A network or a geometry: the file says which.
absl::StatusOr<std::shared_ptr<const Model>> ReadBeaconModel(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, runtime::ReadFile(path, kMaxModelBytes));
  if (nn::IsRangeGeometry(bytes)) {
    ASSIGN_OR_RETURN(nn::RangeGeometry geometry, nn::DecodeRangeGeometry(bytes));
    return std::make_shared<const Model>(std::move(geometry));
  }
  ASSIGN_OR_RETURN(nn::BeaconNetwork network, nn::DecodeBeacon(bytes));
  return std::make_shared<const Model>(std::move(network));
}

absl::StatusOr<std::shared_ptr<const Model>> ReadGraph(const PanelConfig& config) {
  ASSIGN_OR_RETURN(std::string bytes, runtime::ReadFile(config.model, kMaxModelBytes));
  ASSIGN_OR_RETURN(graph::GraphModel graph, graph::DecodeGraphModel(std::move(bytes), config.outputs));
  return std::make_shared<const Model>(std::move(graph));
}

template <typename Network>
std::size_t InputWidthOf(const Network&) {
  return Network::kInputs;
}
std::size_t InputWidthOf(const nn::RangeGeometry& geometry) { return geometry.inputs(); }
std::size_t InputWidthOf(const nn::ModulationNetwork&) { return nn::kModulationInput.size(); }
std::size_t InputWidthOf(const graph::GraphModel& model) { return model.inputs; }

std::size_t InputWidth(const Model& model) {
  return std::visit([](const auto& network) { return InputWidthOf(network); }, model);
}

// Somebody's graph of as many features may take anything.
bool IsOfBursts(const Model& model) {
  return !std::holds_alternative<graph::GraphModel>(model) && InputWidth(model) == radio::kBurstFeatures;
}

bool GivesBursts(const SourceConfig& source) {
  return std::holds_alternative<source::EmitterSourceOptions>(source) ||
         std::holds_alternative<SigmfConfig>(source);
}

absl::StatusOr<std::string> ReadRecording(const std::string& path,
                                          std::size_t max_bytes = kMaxRecordingBytes) {
  absl::StatusOr<std::string> bytes = runtime::ReadFile(path, max_bytes);
  if (!bytes.ok()) return WithContext("file", bytes.status());
  return bytes;
}

using Opened = absl::StatusOr<std::unique_ptr<source::Source>>;

Opened MakeSource(const source::RoomSourceOptions& options, const Model& model, const runtime::Clock& clock) {
  if (InputWidth(model) == scene::kChannelFeatures) return source::CreateRoom(options, clock);
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

// [n, …] or [n, subjects, …] with so many features in the rest becomes [n, features] or [n, subjects,
// features]: an image keeps its sides in the file.
void Flatten(std::size_t features, std::vector<std::uint64_t>& shape) {
  std::uint64_t rest = 1;
  for (std::size_t kept = shape.size(); kept-- > 1;) {
    rest *= shape[kept];
    if (rest != features || kept > 2) continue;
    shape.resize(kept);
    shape.push_back(features);
    return;
  }
}

Opened MakeSource(const ReplayConfig& config, const Model& model, const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadRecording(config.file));
  const std::string file = absl::StrCat("file: ", config.file);
  absl::StatusOr<parameters::NpyArray> recording = parameters::DecodeNpy(bytes);
  if (recording.ok() && std::holds_alternative<graph::GraphModel>(model)) {
    Flatten(InputWidth(model), recording->shape);
  }
  if (recording.ok() && IsOfBursts(model)) recording = source::BurstsOfNpy(*std::move(recording));
  if (!recording.ok()) return WithContext(file, recording.status());
  const absl::Status shape = CheckShape(*recording, model);
  Opened source = source::CreateReplay(*std::move(recording), config.options, clock);
  if (!source.ok()) return WithContext(file, source.status());
  if (!shape.ok()) return WithContext(file, shape);
  return source;
}

Opened MakeSource(const ImagesConfig& config, const Model& model, const runtime::Clock& clock) {
  absl::StatusOr<images::ImageSet> set = config.files.images == "glyphs"
                                             ? images::DrawGlyphs(config.glyphs, config.seed)
                                             : images::ReadImageFiles(config.files);
  if (!set.ok()) return WithContext("images", set.status());
  if (set->image_size() != InputWidth(model)) {
    return absl::InvalidArgumentError(absl::StrCat("images: pictures of ", set->shape().Text(),
                                                   " pixels are ", set->image_size(),
                                                   " features, the model takes ", InputWidth(model)));
  }
  parameters::NpyArray pixels{{set->count(), set->image_size()}, {set->pixels.begin(), set->pixels.end()}};
  return source::CreateReplay(std::move(pixels), config.replay, clock);
}

// The model's anchors and tag, which the configuration may repeat.
absl::Status TakeAnchors(std::span<const int> anchors, int tag, const RangesConfig& config,
                         source::RangesSourceOptions& options) {
  if (config.anchors_given && (!std::ranges::equal(options.anchors, anchors) || options.tag != tag)) {
    return absl::InvalidArgumentError(
        absl::StrCat("anchors: the model was trained on anchors ", absl::StrJoin(anchors, ","), " and tag ",
                     tag, ", the source has ", absl::StrJoin(options.anchors, ","), " and ", options.tag));
  }
  options.anchors.assign(anchors.begin(), anchors.end());
  options.tag = tag;
  return absl::OkStatus();
}

Opened MakeSource(const RangesConfig& config, const Model& model, const runtime::Clock& clock) {
  source::RangesSourceOptions options = config.options;
  if (const auto* network = std::get_if<nn::BeaconNetwork>(&model)) {
    RETURN_IF_ERROR(TakeAnchors(network->anchors, network->tag, config, options));
  } else if (const auto* geometry = std::get_if<nn::RangeGeometry>(&model)) {
    RETURN_IF_ERROR(TakeAnchors(geometry->anchors, geometry->tag, config, options));
    options.tags = geometry->tags;
  } else {
    return absl::InvalidArgumentError("kind: ranges are for the workload beacon");
  }
  const absl::StatusOr<scene::Survey> survey = survey::ReadSurvey(config.survey);
  if (!survey.ok()) return WithContext("survey", survey.status());
  ASSIGN_OR_RETURN(const std::string csv, ReadRecording(config.file));
  absl::StatusOr<scene::RangeRecording> recording = scene::ParseRanges(csv, *survey);
  if (!recording.ok()) return WithContext(absl::StrCat("file: ", config.file), recording.status());
  return source::CreateRanges(*std::move(recording), options, clock);
}

Opened MakeSource(source::UdpSourceOptions options, const Model& model, const runtime::Clock& clock) {
  options.assembler.width = static_cast<std::uint16_t>(InputWidth(model));
  return source::CreateUdp(options, clock);
}

absl::Status CheckTakesBursts(const Model& model) {
  if (InputWidth(model) == radio::kBurstFeatures) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kind: gives bursts of ", radio::kBurstFeatures,
                                                 " features, the model takes ", InputWidth(model)));
}

Opened MakeSource(const source::EmitterSourceOptions& options, const Model& model,
                  const runtime::Clock& clock) {
  RETURN_IF_ERROR(CheckTakesBursts(model));
  return source::CreateEmitters(options, clock);
}

Opened MakeSource(const SigmfConfig& config, const Model& model, const runtime::Clock& clock) {
  RETURN_IF_ERROR(CheckTakesBursts(model));
  ASSIGN_OR_RETURN(const std::string metadata, ReadRecording(config.file, radio::kMaxSigmfMetaBytes));
  ASSIGN_OR_RETURN(const std::string data, ReadRecording(radio::SigmfDataFile(config.file)));
  absl::StatusOr<parameters::NpyArray> bursts = source::BurstsOfSigmf(metadata, data, config.sample_rate_hz);
  if (!bursts.ok()) return WithContext(absl::StrCat("file: ", config.file), bursts.status());
  return source::CreateReplay(*std::move(bursts), config.replay, clock);
}

// MakeSerialParts opens it.
Opened MakeSource(const source::SerialSourceOptions&, const Model& model, const runtime::Clock&) {
  if (std::holds_alternative<nn::BeaconNetwork>(model)) return nullptr;
  return absl::InvalidArgumentError("kind: a serial line is for a beacon network");
}

Opened MakeSource(const PanelConfig& config, const Model& model, const runtime::Clock& clock) {
  Opened source =
      std::visit([&](const auto& options) { return MakeSource(options, model, clock); }, config.source);
  if (!source.ok() || *source == nullptr) return source;
  if (!IsOfBursts(model) && !GivesBursts(config.source)) return source;
  return source::GuardBursts(*std::move(source), config.name, clock);
}

using Made = absl::StatusOr<std::unique_ptr<workload::Workload>>;

Made MakeWorkload(const PanelConfig& config, const nn::PositioningNetwork& network) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, network));
  return workload::CreatePositioning(std::move(accelerator), {config.x_m, config.y_m, config.orientation_deg},
                                     network.covariance_scale);
}

Made MakeWorkload(const PanelConfig& config, const nn::BeaconNetwork& network) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, network));
  return workload::CreateBeacon(std::move(accelerator), network);
}

Made MakeWorkload(const PanelConfig& config, const nn::RangeGeometry& geometry) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, geometry));
  return workload::CreateGeometry(std::move(accelerator), geometry);
}

Made MakeWorkload(const PanelConfig& config, const nn::ModulationNetwork& network) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, network));
  return workload::CreateCategorical(std::move(accelerator), nn::kModulationInput.size(),
                                     network.classes.size(), double{network.temperature});
}

Made MakeWorkload(const PanelConfig& config, const graph::GraphModel& model) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, model));
  const graph::OutputMeaning& meaning = model.meaning;
  if (graph::TellsClasses(meaning.kind)) {
    return workload::CreateCategorical(std::move(accelerator), model.inputs, meaning.classes.size(),
                                       meaning.temperature);
  }
  return workload::CreateGaussian(std::move(accelerator), model.inputs,
                                  meaning.kind == graph::OutputKind::kLogDeviation,
                                  {config.x_m, config.y_m, config.orientation_deg}, meaning.covariance_scale);
}

// The line's master computes, sets weights and trains on the accelerator of the panel's workload.
absl::StatusOr<PanelParts> MakeSerialParts(const PanelConfig& config, const nn::BeaconNetwork& model,
                                           const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(auto accelerator, accelerator::CreateAccelerator(config.accelerator, model));
  const auto network = std::make_shared<nn::BeaconNetwork>(model);
  auto board = std::make_unique<workload::BeaconBoard>(*accelerator, network, BeaconWeightStep(config));
  PanelParts parts;
  ASSIGN_OR_RETURN(parts.workload, workload::CreateBeacon(std::move(accelerator), network));
  ASSIGN_OR_RETURN(parts.source, source::CreateSerial(std::get<source::SerialSourceOptions>(config.source),
                                                      std::move(board), network, clock));
  return parts;
}

Made MakeWorkload(const PanelConfig& config, const Model& model,
                  const std::shared_ptr<retraining::BeaconInForce>& in_force) {
  if (in_force != nullptr) {
    ASSIGN_OR_RETURN(auto accelerator,
                     accelerator::CreateAccelerator(config.accelerator, *in_force->content().network));
    return retraining::CreateRenewedBeacon(std::move(accelerator), in_force);
  }
  return std::visit([&](const auto& network) { return MakeWorkload(config, network); }, model);
}

}  // namespace

std::vector<std::string> ClassesOf(const Model& model) {
  if (const auto* const network = std::get_if<nn::ModulationNetwork>(&model)) return network->classes;
  if (const auto* const graph = std::get_if<graph::GraphModel>(&model)) return graph->meaning.classes;
  return {};
}

absl::StatusOr<std::shared_ptr<const Model>> LoadModel(const PanelConfig& config) {
  const std::string& path = config.model;
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<const Model>> {
    switch (config.workload) {
      case WorkloadKind::kNetwork:
        return ReadGraph(config);
      case WorkloadKind::kBeacon:
        return ReadBeaconModel(path);
      case WorkloadKind::kModulation:
        return ReadModel(path, nn::DecodeModulation);
      case WorkloadKind::kPositioning:
        break;
    }
    return ReadModel(path, nn::DecodePositioning);
  };
  constexpr const char* kTrainCommands[] = {"positioning", "beacon", "modulation"};  // by the kind
  auto model = read();
  if (model.ok()) return model;
  if (config.workload == WorkloadKind::kNetwork) return model;
  return absl::Status(
      model.status().code(),
      absl::StrCat("model ", path, ": ", model.status().message(), "; make one with `tributary train ",
                   kTrainCommands[static_cast<std::size_t>(config.workload)], "`"));
}

absl::StatusOr<std::unique_ptr<source::Source>> PrepareSource(const PanelConfig& config, const Model& model,
                                                              const runtime::Clock& clock) {
  // Its addresses were checked where they were read.
  if (std::holds_alternative<source::UdpSourceOptions>(config.source)) return nullptr;
  return MakeSource(config, model, clock);
}

Made PrepareWorkload(const PanelConfig& config, const Model& model,
                     const std::shared_ptr<retraining::BeaconInForce>& in_force) {
  if (!config.accelerator.xrt.has_value()) return MakeWorkload(config, model, in_force);
  const auto check = [&](const auto& network) { return CheckAccelerator(config.accelerator, network); };
  RETURN_IF_ERROR(std::visit(check, model));
  return nullptr;
}

absl::StatusOr<std::shared_ptr<retraining::BeaconInForce>> NetworkInForce(const PanelConfig& config,
                                                                          const Model& model) {
  if (!config.retraining) return nullptr;
  const auto* const network = std::get_if<nn::BeaconNetwork>(&model);
  if (network == nullptr) {
    return absl::InvalidArgumentError("only a network learns, and the model is a geometry");
  }
  const std::string& state = config.retraining->state_file;
  if (state.empty()) return std::make_shared<retraining::BeaconInForce>(*network);
  RETURN_IF_ERROR(WithContext("state", runtime::CheckFolderOf(state)));
  auto kept = retraining::LoadRetrained(state, *network);
  if (!kept.ok()) {
    return WithContext("state",
                       absl::Status(kept.status().code(),
                                    absl::StrCat(kept.status().message(),
                                                 "; without the file the panel begins with its model")));
  }
  return std::make_shared<retraining::BeaconInForce>(*kept ? **std::move(kept) : *network);
}

absl::StatusOr<PanelParts> OpenParts(const PanelConfig& config, const Model& model,
                                     const std::shared_ptr<retraining::BeaconInForce>& in_force,
                                     PanelParts prepared, const runtime::Clock& clock) {
  const auto open = [&]() -> absl::Status {
    if (std::holds_alternative<source::SerialSourceOptions>(config.source)) {
      ASSIGN_OR_RETURN(prepared, MakeSerialParts(config, std::get<nn::BeaconNetwork>(model), clock));
    }
    if (prepared.workload == nullptr) {
      ASSIGN_OR_RETURN(prepared.workload, MakeWorkload(config, model, in_force));
    }
    if (prepared.source == nullptr) {
      ASSIGN_OR_RETURN(prepared.source, MakeSource(config, model, clock));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WithContext(absl::StrCat("panel ", config.name), open()));
  return prepared;
}

}  // namespace tributary::panel
