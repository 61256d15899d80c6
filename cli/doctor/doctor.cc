#include "cli/doctor/doctor.h"

#include <filesystem>
#include <iostream>

#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/config/program.h"
#include "core/runtime/clock.h"
#include "core/runtime/process.h"
#include "node/checks/machine_checks.h"
#include "node/config.h"
#include "node/prepare.h"

namespace tributary::cli {
namespace {

// A status of several faults has a line for each.
void AddFaults(const std::string& check, const absl::Status& status, const std::string& remedy,
               checks::CheckReport& report) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    report.Fault(check, std::string(line), remedy);
  }
}

void NeedBoard(const std::optional<accelerator::XrtOptions>& board, DoctorOptions& options) {
  if (!board.has_value()) return;
  options.needs_board = true;
  options.device = board->device;
  if (options.xclbin.empty()) options.xclbin = board->xclbin;
}

// The node makes its spool's folder at its first start.
std::string DiskOf(const std::string& spool_folder) {
  std::error_code ignored;
  if (std::filesystem::exists(spool_folder, ignored)) return spool_folder;
  const std::filesystem::path parent = std::filesystem::path(spool_folder).parent_path();
  return parent.empty() ? "." : parent.string();
}

void TakeNeeds(const node::NodeConfig& config, DoctorOptions& options) {
  for (const panel::PanelConfig& panel : config.panels) NeedBoard(panel.accelerator.xrt, options);
  if (config.fusion) NeedBoard(config.fusion->accelerator.xrt, options);
  options.connection = {node::HomeOf(config), config.tls.value_or(config::TlsFiles())};
  options.renews = config.renewal.on;
  options.node = config.node;
  options.slot = config.slot;
  options.only_learns = config.panels.empty();
  if (!options.only_learns) options.site = config.site;
  for (const panel::PanelConfig& panel : config.panels) options.sources.push_back(panel.name);
  if (options.data_folder.empty() && config.disk) options.data_folder = DiskOf(config.disk->folder);
  if (!config.federation) return;
  NeedBoard(config.federation->board, options);
  if (options.data_folder.empty() && !config.federation->state.empty()) {
    const std::filesystem::path folder = std::filesystem::path(config.federation->state).parent_path();
    options.data_folder = folder.empty() ? "." : folder.string();
  }
}

// Reads `options.config` and the files that it names. Sets what the configuration needs: whether a board and
// with which xclbin, the aggregator and its certificates, the site, the folder that must have room. An xclbin
// and a folder of the command line stay.
void CheckConfiguration(DoctorOptions& options, checks::CheckReport& report) {
  const absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Read(options.config);
  if (!file.ok()) return AddFaults("configuration", file.status(), "Correct the configuration", report);
  if (const absl::Status other = config::CheckProgram(*file, config::Program::kNode); !other.ok()) {
    return AddFaults("configuration", other, "Give the configuration of a node", report);
  }
  const node::NodeConfig config = node::ReadNodeConfig(*file);
  if (const absl::Status faults = file->Finish(); !faults.ok()) {
    return AddFaults("configuration", faults, "Correct the configuration", report);
  }
  report.Ok("configuration", options.config + ": no fault");
  TakeNeeds(config, options);
  const runtime::SystemClock clock;
  const absl::Status files = node::PrepareNode(*file, clock).status();
  if (files.ok()) return report.Ok("files", "models, images and certificates can be used");
  AddFaults("files", files,
            "Do what it says; a file that is missing or cannot be read: install it for the daemon's user, or "
            "correct the "
            "key that names it",
            report);
}

checks::CheckReport Examine(DoctorOptions options) {
  checks::CheckReport report;
  options.needs_board = !options.xclbin.empty();
  if (!options.config.empty()) CheckConfiguration(options, report);
  if (options.needs_board) {
    CheckBoard(options, report);
  } else {
    report.Ok("xrt", options.config.empty()
                         ? "not needed: no --xclbin, and no --config of a node with a board"
                         : "not needed: the configuration uses no board");
  }
  if (options.only_learns) {
    report.Ok("clock", "need not be exact: this node has no panel, and reports no slots");
  } else {
    report.lines.push_back(checks::CheckSynchronisation(options.slot));
  }
  if (options.connection.aggregator.empty()) {
    report.Warning("aggregator", "not asked, and its clock not compared",
                   "Give --config FILE or --aggregator HOST:PORT");
  } else if (CheckAggregator(options, report) && !options.only_learns) {
    report.lines.push_back(CheckOffset(options.connection, options.slot));
  }
  if (options.renews) report.lines.push_back(checks::CheckRenewal(options.connection.tls.certificate));
  if (options.data_folder.empty()) {
    report.Ok("disk", "not checked: no --data, and no state file of a learner; the spool is in memory");
  } else {
    report.lines.push_back(checks::CheckDisk(options.data_folder));
  }
  report.lines.push_back(checks::CheckMemory());
  return report;
}

struct DoctorArguments {
  DoctorOptions options;
  bool json = false;
};

absl::Status Doctor(const DoctorArguments& arguments) {
  const checks::CheckReport report = Examine(arguments.options);
  std::cout << (arguments.json ? report.Json() : report.Text());
  return report.has_fault() ? AlreadyReported(runtime::kExitUnavailable) : absl::OkStatus();
}

}  // namespace

void AddDoctorCommand(Commands& program) {
  auto [command, arguments] = program.Add<DoctorArguments>(
      "doctor", "Check whether this machine is ready to run a node, with a board or without", Doctor);
  DoctorOptions& options = arguments.options;
  command.Text("--config", options.config, "FILE",
               "Configuration of the node; it decides whether a board is needed, and names the aggregator");
  command.Text("--xclbin", options.xclbin, "FILE", "Bitstream of the board, to check the board with it");
  command.Number("--device", options.device, "N", "Index of the board");
  command.Number("--memory-bytes", options.memory_bytes, "BYTES", "Contiguous memory that the node needs");
  command.Text(
      "--data", options.data_folder, "FOLDER",
      "Folder whose disk must have room; default: spool_dir, or the folder of the learner's state file");
  command.SlotLength(options.slot);
  command.Connection(options.connection);
  command.Json(arguments.json, "Print JSON instead of lines");
  command.Examples(
      "Examples:\n"
      "  tributary doctor --config /etc/tributary/node.toml\n"
      "  tributary doctor --xclbin /etc/tributary/positioning.xclbin --aggregator hub:7400\n\n"
      "Exit status: 0 no fault (there may be warnings), 69 a fault");
}

}  // namespace tributary::cli
