#include "cli/doctor/doctor_config.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_split.h"
#include "node/config.h"
#include "node/prepare.h"

namespace tributary::cli {
namespace {

// A status of several faults has a line for each.
void AddFaults(const std::string& check, const absl::Status& status, const std::string& remedy,
               DoctorReport& report) {
  for (const auto line : absl::StrSplit(std::string(status.message()), '\n', absl::SkipEmpty())) {
    report.lines.push_back({check, Finding::kFault, std::string(line), remedy});
  }
}

void NeedBoard(const panel::AcceleratorChoice& choice, DoctorOptions& options) {
  if (choice.kind != accelerator::AcceleratorKind::kXrt) return;
  options.needs_board = true;
  options.device = choice.xrt.device;
  if (options.xclbin.empty()) options.xclbin = choice.xrt.xclbin;
}

void TakeNeeds(const node::NodeConfig& config, DoctorOptions& options, ConnectionArguments& connection) {
  for (const panel::PanelConfig& panel : config.panels) NeedBoard(panel.accelerator, options);
  if (config.fusion) NeedBoard(config.fusion->accelerator, options);
  connection.aggregator = config.aggregator;
  connection.tls = config.tls.value_or(config::TlsFiles());
  options.site = config.site;
  options.slot = config.slot;
  if (!config.federation) return;
  if (config.panels.empty()) connection.aggregator = config.federation->aggregator;
  if (options.data_folder.empty() && !config.federation->state.empty()) {
    options.data_folder = std::filesystem::path(config.federation->state).parent_path();
  }
}

}  // namespace

void CheckConfiguration(DoctorOptions& options, ConnectionArguments& connection, DoctorReport& report) {
  const absl::StatusOr<node::NodeConfig> config = node::ReadNodeConfig(options.config);
  if (!config.ok()) {
    AddFaults("configuration", config.status(), "Correct the configuration", report);
    return;
  }
  report.lines.push_back({"configuration", Finding::kOk, options.config + ": no fault", ""});
  TakeNeeds(*config, options, connection);
  const runtime::SystemClock clock;
  const absl::Status files = node::PrepareNode(options.config, clock).status();
  if (files.ok()) {
    report.lines.push_back({"files", Finding::kOk, "models, images and certificates can be used", ""});
  } else {
    AddFaults("files", files, "Install the file, or correct the key that names it", report);
  }
}

}  // namespace tributary::cli
