#include "node/prepare.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "core/config/tls.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/encoder/training_limits.h"
#include "core/runtime/file.h"

namespace tributary::node {
namespace {

// One model for each file and workload, however many panels run it.
using Models = std::map<std::pair<std::string, panel::WorkloadKind>, std::shared_ptr<const panel::Model>>;

// A panel with valid keys, and its place in the file.
class PanelPreparation {
 public:
  PanelPreparation(const config::ConfigFile& file, const panel::PanelConfig& config, std::size_t index)
      : file_(file), config_(config), table_(fmt::format("panel[{}]", index)) {}

  std::shared_ptr<const panel::Model> LoadModelInto(Models& models) const {
    std::shared_ptr<const panel::Model>& model = models[{config_.model, config_.workload}];
    if (model != nullptr) return model;
    auto loaded = panel::LoadModel(config_.workload, config_.model);
    if (!loaded.ok()) {
      file_.Fault(table_ + ".model", std::string(loaded.status().message()));
      return nullptr;
    }
    model = *std::move(loaded);
    return model;
  }

  panel::PreparedPanel Prepare(const panel::Model& model, const runtime::Clock& clock) const {
    panel::PreparedPanel panel;
    auto workload = panel::PrepareWorkload(config_, model);
    if (workload.ok()) {
      panel.workload = *std::move(workload);
    } else {
      FaultAtKey(table_, workload.status(), "format");
    }
    auto source = panel::PrepareSource(config_, model, clock);
    if (source.ok()) {
      panel.source = *std::move(source);
    } else {
      FaultOfSource(source.status());
    }
    return panel;
  }

 private:
  // "KEY: what is wrong".
  void FaultAtKey(const std::string& table, const absl::Status& status, const std::string& otherwise) const {
    const std::string message(status.message());
    const std::size_t colon = message.find(": ");
    const std::string word = message.substr(0, colon);
    const bool is_key = colon != std::string::npos && !word.empty() &&
                        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    file_.Fault(table + "." + (is_key ? word : otherwise), is_key ? message.substr(colon + 2) : message);
  }

  void FaultOfSource(const absl::Status& status) const {
    const std::string table = table_ + ".source";
    std::string named;
    if (const auto* replay = std::get_if<panel::ReplayConfig>(&config_.source)) named = replay->file;
    if (const auto* ranges = std::get_if<panel::RangesConfig>(&config_.source)) named = ranges->file;
    if (!named.empty() && absl::StartsWith(status.message(), named)) {
      file_.Fault(table + ".file", std::string(status.message()));
    } else {
      FaultAtKey(table, status, "kind");
    }
  }

  const config::ConfigFile& file_;
  const panel::PanelConfig& config_;
  const std::string table_;
};

void PreparePanels(const config::ConfigFile& file, const runtime::Clock& clock, PreparedNode& node) {
  Models models;
  const panel::Model* first = nullptr;
  for (std::size_t i = 0; i < node.config.panels.size(); ++i) {
    const panel::PanelConfig& config = node.config.panels[i];
    const PanelPreparation preparation(file, config, i);
    node.models.push_back(nullptr);
    node.panels.emplace_back();
    if (file.HasFault(fmt::format("panel[{}]", i))) continue;
    node.models.back() = preparation.LoadModelInto(models);
    if (node.models.back() == nullptr) continue;
    const panel::Model& model = *node.models.back();
    if (first == nullptr) first = &model;
    // The hello of the Report stream carries one identity.
    if (!(model.identity == first->identity)) {
      file.Fault(
          fmt::format("panel[{}].model", i),
          fmt::format("{} is not the model of the panels before it; the panels of one node run one model: "
                      "use a node for each",
                      config.model));
      continue;
    }
    node.panels.back() = preparation.Prepare(model, clock);
  }
}

void PrepareFusion(const config::ConfigFile& file, const FusionConfig& fusion) {
  if (file.HasFault("fusion")) return;
  accelerator::AcceleratorConfig accelerator{.kind = fusion.accelerator.kind, .xrt = fusion.accelerator.xrt};
  if (absl::Status status = accelerator::CheckFusion(accelerator); !status.ok()) {
    file.Fault("fusion.xclbin", std::string(status.message()));
  }
}

void PrepareLearning(const config::ConfigFile& file, PreparedNode& node) {
  const learner::FederationConfig& federation = *node.config.federation;
  const bool sound = !file.HasFault("federation");
  if (!federation.state.empty()) {
    if (absl::Status status = runtime::CheckFolderOf(federation.state); !status.ok()) {
      file.Fault("federation.state", std::string(status.message()));
    }
  }
  if (!sound) return;
  absl::StatusOr<images::ImageSet> images = learner::LoadPart(federation);
  if (!images.ok()) {
    file.Fault("federation",
               {{"federation.images", federation.images}, {"federation.labels", federation.labels}},
               images.status());
    return;
  }
  if (!nn::kImageSideLimit.Admits(static_cast<double>(images->side))) {
    file.Fault("federation.images",
               fmt::format("{}: images of {} x {} pixels, an encoder takes {} to {}", federation.images,
                           images->side, images->side, nn::kImageSideLimit.least, nn::kImageSideLimit.most));
  } else if (images->side != nn::EncoderOptions().side) {
    node.remarks.push_back(fmt::format(
        "{}: images of {} x {} pixels; only a run whose initial model takes them can "
        "use this node, a run without one takes {} x {}",
        federation.images, images->side, images->side, nn::EncoderOptions().side, nn::EncoderOptions().side));
  }
  node.images = *std::move(images);
}

}  // namespace

absl::StatusOr<PreparedNode> PrepareNode(const config::ConfigFile& file, const runtime::Clock& clock) {
  PreparedNode node;
  node.config = ReadNodeConfig(file);
  if (node.config.tls) node.tls = config::PrepareTls(file, *node.config.tls, {{"node", node.config.node}});
  PreparePanels(file, clock, node);
  if (node.config.fusion) PrepareFusion(file, *node.config.fusion);
  if (node.config.federation) PrepareLearning(file, node);
  if (absl::Status status = file.Finish(); !status.ok()) return status;
  return node;
}

absl::StatusOr<PreparedNode> PrepareNode(const std::string& path, const runtime::Clock& clock) {
  absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Read(path);
  if (!file.ok()) return file.status();
  return PrepareNode(*file, clock);
}

}  // namespace tributary::node
