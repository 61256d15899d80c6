#include "node/prepare.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/config/tls.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/encoder/training_limits.h"
#include "core/runtime/file.h"
#include "core/status/macros.h"
#include "core/wire/hello_size.h"
#include "node/report_hello.h"

namespace tributary::node {
namespace {

// One model for each file and workload, however many panels run it.
using Models = std::map<std::pair<std::string, panel::WorkloadKind>, std::shared_ptr<const panel::Model>>;

std::shared_ptr<const panel::Model> LoadModelInto(Models& models, const config::ConfigFile& file,
                                                  const std::string& table,
                                                  const panel::PanelConfig& config) {
  // Panels may read other things into the outputs of one graph.
  if (config.workload == panel::WorkloadKind::kNetwork) {
    auto loaded = panel::LoadModel(config);
    if (loaded.ok()) return *std::move(loaded);
    const std::string message(loaded.status().message());
    for (const char* key : {"kind", "output", "classes", "temperature", "covariance_scale"}) {
      const std::string start = std::string(key) + ": ";
      if (!message.starts_with(start)) continue;
      file.Fault(table + ".outputs." + key, message.substr(start.size()));
      return nullptr;
    }
    file.Fault(table + ".model", config.model + ": " + message);
    return nullptr;
  }
  std::shared_ptr<const panel::Model>& model = models[{config.model, config.workload}];
  if (model != nullptr) return model;
  auto loaded = panel::LoadModel(config);
  if (loaded.ok()) return model = *std::move(loaded);
  file.Fault(table + ".model", std::string(loaded.status().message()));
  return nullptr;
}

// "KEY: what is wrong".
void FaultAtKey(const config::ConfigFile& file, const std::string& table, const absl::Status& status,
                const std::string& otherwise) {
  const std::string message(status.message());
  const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  const bool has_key = end != std::string::npos && end > 0 && message.compare(end, 2, ": ") == 0;
  file.Fault(table + "." + (has_key ? message.substr(0, end) : otherwise),
             has_key ? message.substr(end + 2) : message);
}

auto IdentityOf(const panel::Model& model) {
  const nn::Provenance& provenance = panel::ProvenanceOf(model);
  return std::tie(provenance.name, provenance.version, provenance.sha256);
}

// A panel with valid keys.
panel::PanelParts PreparePanel(const config::ConfigFile& file, const std::string& table,
                               const panel::PanelConfig& config, const panel::Model& model,
                               std::shared_ptr<retraining::BeaconInForce>& in_force,
                               const runtime::Clock& clock) {
  if (auto network = panel::NetworkInForce(config, model); network.ok()) {
    in_force = *std::move(network);
  } else {
    FaultAtKey(file, table + ".retraining", network.status(), "state");
    return {};
  }
  auto workload = panel::PrepareWorkload(config, model, in_force);
  auto source = panel::PrepareSource(config, model, clock);
  if (!workload.ok()) FaultAtKey(file, table, workload.status(), "format");
  if (!source.ok()) FaultAtKey(file, table + ".source", source.status(), "kind");
  if (!workload.ok() || !source.ok()) return {};
  return {*std::move(source), *std::move(workload)};
}

void PreparePanels(const config::ConfigFile& file, const runtime::Clock& clock, PreparedNode& node) {
  Models models;
  const panel::Model* first = nullptr;
  for (std::size_t i = 0; i < node.config.panels.size(); ++i) {
    const panel::PanelConfig& config = node.config.panels[i];
    const std::string table = fmt::format("panel[{}]", i);
    node.models.push_back(nullptr);
    node.panels.emplace_back();
    node.in_force.emplace_back();
    // A fault elsewhere in the table does not hide the model's.
    const bool sound = !file.HasFault(table);
    if (!sound && (config.model.empty() || file.HasFault(table + ".workload"))) continue;
    node.models.back() = LoadModelInto(models, file, table, config);
    if (node.models.back() == nullptr) continue;
    const panel::Model& model = *node.models.back();
    if (first == nullptr) first = &model;
    // The hello of the Report stream carries one identity.
    if (IdentityOf(model) != IdentityOf(*first)) {
      file.Fault(
          table + ".model",
          fmt::format("{} is not the model of the panels before it; the panels of one node run one model: "
                      "use a node for each",
                      config.model));
      continue;
    }
    if (sound) node.panels.back() = PreparePanel(file, table, config, model, node.in_force.back(), clock);
  }
}

void PrepareFusion(const config::ConfigFile& file, const FusionConfig& fusion, const PreparedNode& node) {
  if (file.HasFault("fusion")) return;
  for (const auto& model : node.models) {
    if (model == nullptr || panel::ClassesOf(*model).empty()) continue;
    return file.Fault("fusion", "fuses positions; the panels' network gives classes");
  }
  if (absl::Status status = accelerator::CheckFusion(fusion.accelerator); !status.ok()) {
    FaultAtKey(file, "fusion", status, "xclbin");
  }
}

// A board holds one xclbin, for all that use it.
void PrepareBoards(const config::ConfigFile& file, const NodeConfig& config) {
  struct Use {
    std::string table, xclbin, uuid;
  };
  std::map<std::uint32_t, Use> boards;  // by device
  const auto use = [&](const std::string& table, const std::optional<accelerator::XrtOptions>& board) {
    if (!board || file.HasFault(table)) return;
    const Use mine{table, board->xclbin, accelerator::XclbinUuid(*board)};
    if (mine.uuid.empty()) return;  // it cannot be read: the processor computes
    const auto& [device, first] = *boards.emplace(board->device, mine).first;
    if (first.uuid == mine.uuid) return;
    file.Fault(
        table + ".xclbin",
        fmt::format("device {} holds one xclbin at a time: {} is another one than {} of {}. Build one with "
                    "the kernels of both",
                    device, mine.xclbin, first.xclbin, first.table));
  };
  for (std::size_t i = 0; i < config.panels.size(); ++i) {
    use(fmt::format("panel[{}]", i), config.panels[i].accelerator.xrt);
  }
  if (config.fusion) use("fusion", config.fusion->accelerator.xrt);
  if (config.federation) use("federation", config.federation->board);
}

// A folder that cannot be written to now may be so later, and frames then stay in memory: no fault.
void PrepareDisk(const config::ConfigFile& file, const std::string& folder) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return;
  absl::Status status = runtime::CheckFolderOf(folder);
  if (status.ok() && std::filesystem::exists(folder, ignored)) {
    status = absl::FailedPreconditionError(folder + ": is no folder");
  }
  if (!status.ok()) file.Fault("uplink.spool_dir", std::string(status.message()));
}

// Keeps what was read, or says at its key why it was not.
template <class Samples>
void Take(const config::ConfigFile& file, const std::string& key, absl::StatusOr<Samples> read,
          std::optional<Samples>& kept) {
  if (read.ok()) {
    kept = *std::move(read);
  } else {
    file.Fault(key, std::string(read.status().message()));
  }
}

void TakePoints(const config::ConfigFile& file, const learner::PointSamplesConfig& config,
                std::optional<learner::PanelPoints>& kept) {
  absl::StatusOr<learner::PanelPoints> read = learner::LoadPoints(config);
  if (read.ok()) {
    kept = *std::move(read);
    return;
  }
  file.Fault("federation.positioning",
             {{"federation.positioning.features", config.features},
              {"federation.positioning.positions", config.positions}},
             read.status());
}

void PrepareLearning(const config::ConfigFile& file, PreparedNode& node) {
  const learner::FederationConfig& federation = *node.config.federation;
  const bool sound = !file.HasFault("federation");
  if (!federation.state.empty()) {
    if (absl::Status status = runtime::CheckFolderOf(federation.state); !status.ok()) {
      file.Fault("federation.state", std::string(status.message()));
    }
  }
  if (!sound || federation.trainer) return;
  if (federation.beacon) {
    return Take(file, "federation.beacon.ranges", learner::LoadExamples(*federation.beacon), node.examples);
  }
  if (federation.modulation) {
    return Take(file, "federation.modulation.iq", learner::LoadBursts(*federation.modulation), node.bursts);
  }
  if (federation.positioning) {
    return TakePoints(file, *federation.positioning, node.points);
  }
  if (federation.board) {
    if (const absl::Status status = accelerator::CheckEncoderBoard(*federation.board); !status.ok()) {
      FaultAtKey(file, "federation", status, "xclbin");
    }
  }
  absl::StatusOr<images::ImageSet> images = learner::LoadPart(federation);
  if (!images.ok()) {
    file.Fault("federation",
               {{"federation.images", federation.images}, {"federation.labels", federation.labels}},
               images.status());
    return;
  }
  if (!nn::kImageSideLimit.Admits(static_cast<double>(images->side))) {
    file.Fault("federation.images",
               fmt::format("{}: images of {} pixels, an encoder takes a side of {} to {}", federation.images,
                           images->shape().Text(), nn::kImageSideLimit.least, nn::kImageSideLimit.most));
  } else if (const nn::ImageShape usual = nn::EncoderOptions().image(); images->shape() != usual) {
    node.remarks.push_back(fmt::format(
        "{}: images of {} pixels; only a run whose initial model or encoder.side and encoder.input_channels "
        "take them can use this node, others take {}",
        federation.images, images->shape().Text(), usual.Text()));
  }
  node.images = *std::move(images);
}

}  // namespace

absl::StatusOr<PreparedNode> PrepareNode(const config::ConfigFile& file, const runtime::Clock& clock) {
  PreparedNode node;
  node.config = ReadNodeConfig(file);
  if (node.config.tls) {
    node.tls = config::PrepareTls(file, *node.config.tls, config::kClientOnly, {{"node", node.config.node}});
  }
  PreparePanels(file, clock, node);
  if (!node.models.empty() && node.models.front() != nullptr) {
    const absl::Status status = wire::CheckHelloSize(HelloOf(node.config, *node.models.front()));
    if (!status.ok()) file.Fault("panel", std::string(status.message()));
  }
  if (node.config.disk) PrepareDisk(file, node.config.disk->folder);
  if (node.config.fusion) PrepareFusion(file, *node.config.fusion, node);
  if (node.config.federation) PrepareLearning(file, node);
  PrepareBoards(file, node.config);
  RETURN_IF_ERROR(file.Finish());
  return node;
}

}  // namespace tributary::node
