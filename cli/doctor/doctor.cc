#include "cli/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/config/program.h"
#include "core/runtime/clock.h"
#include "core/runtime/file.h"
#include "core/runtime/process.h"
#include "node/config.h"
#include "node/prepare.h"

namespace tributary::cli {
namespace {

constexpr std::uintmax_t kNeededDiskBytes = 256ull << 20;  // a learner's state, twice while it is replaced
constexpr std::uintmax_t kScarceDiskBytes = 1024ull << 20;

const char* NameOf(Finding finding) {
  constexpr std::array kNames = {"ok", "warning", "fault"};
  return kNames[static_cast<std::size_t>(finding)];
}

// A status of several faults has a line for each.
void AddFaults(const std::string& check, const absl::Status& status, const std::string& remedy,
               DoctorReport& report) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    report.Fault(check, std::string(line), remedy);
  }
}

void NeedBoard(const accelerator::AcceleratorConfig& choice, DoctorOptions& options) {
  if (!choice.xrt.has_value()) return;
  options.needs_board = true;
  options.device = choice.xrt->device;
  if (options.xclbin.empty()) options.xclbin = choice.xrt->xclbin;
}

void TakeNeeds(const node::NodeConfig& config, DoctorOptions& options) {
  for (const panel::PanelConfig& panel : config.panels) NeedBoard(panel.accelerator, options);
  if (config.fusion) NeedBoard(config.fusion->accelerator, options);
  options.connection = {node::HomeOf(config), config.tls.value_or(config::TlsFiles())};
  options.renews = config.renewal.on;
  options.node = config.node;
  options.slot = config.slot;
  options.only_learns = config.panels.empty();
  if (!options.only_learns) options.site = config.site;
  for (const panel::PanelConfig& panel : config.panels) options.sources.push_back(panel.name);
  if (!config.federation) return;
  if (options.data_folder.empty() && !config.federation->state.empty()) {
    const std::filesystem::path folder = std::filesystem::path(config.federation->state).parent_path();
    options.data_folder = folder.empty() ? "." : folder.string();
  }
}

// Reads `options.config` and the files that it names. Sets what the configuration needs: whether a board and
// with which xclbin, the aggregator and its certificates, the site, the folder that must have room. An xclbin
// and a folder of the command line stay.
void CheckConfiguration(DoctorOptions& options, DoctorReport& report) {
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
  AddFaults("files", files, "Install the file, or correct the key that names it", report);
}

void CheckDisk(const std::string& folder, DoctorReport& report) {
  if (folder.empty())
    return report.Ok("disk",
                     "not checked: no --data, and no state file of a learner; the spool is in memory");
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) {
    return report.Fault("disk", fmt::format("{}: {}", folder, error.message()),
                        "Make the folder, or give --data FOLDER");
  }
  const std::string found = fmt::format("{} MiB free in {}", space.available >> 20, folder);
  if (space.available < kNeededDiskBytes) {
    report.Fault("disk", found, "Free at least 256 MiB");
  } else if (space.available < kScarceDiskBytes) {
    report.Warning("disk", found, "Less than 1 GiB");
  } else {
    report.Ok("disk", found);
  }
}

// Whether the node could replace its certificate, run by this user.
void CheckRenewal(const DoctorOptions& options, DoctorReport& report) {
  if (!options.renews) return;
  const std::string& path = options.connection.tls.certificate;
  if (const absl::Status status = runtime::CheckFolderOf(path); !status.ok()) {
    report.Fault(
        "renewal", std::string(status.message()),
        "Keep the certificate in a folder that the node may write, as /var/lib/tributary/certs, and run "
        "doctor as the node's user");
    return;
  }
  report.Ok("renewal", path + " can be replaced; the aggregator needs authority in [access]");
}

DoctorReport Examine(DoctorOptions options) {
  DoctorReport report;
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
    report.lines.push_back(CheckSynchronisation(options.slot));
  }
  if (options.connection.aggregator.empty()) {
    report.Warning("aggregator", "not asked, and its clock not compared",
                   "Give --config FILE or --aggregator HOST:PORT");
  } else if (CheckAggregator(options, report) && !options.only_learns) {
    report.lines.push_back(CheckOffset(options.connection, options.slot));
  }
  CheckRenewal(options, report);
  CheckDisk(options.data_folder, report);
  return report;
}

struct DoctorArguments {
  DoctorOptions options;
  bool json = false;
};

absl::Status Doctor(const DoctorArguments& arguments) {
  const DoctorReport report = Examine(arguments.options);
  std::cout << (arguments.json ? report.Json() : report.Text());
  return report.has_fault() ? AlreadyReported(runtime::kExitUnavailable) : absl::OkStatus();
}

}  // namespace

bool DoctorReport::has_fault() const {
  return std::ranges::any_of(lines, [](const DoctorLine& line) { return line.finding == Finding::kFault; });
}

std::string DoctorReport::Text() const {
  std::string text;
  for (const DoctorLine& line : lines) {
    text += fmt::format("{:<8} {:<16} {}\n", NameOf(line.finding), line.check, line.found);
    if (!line.remedy.empty()) text += fmt::format("{:<26}→ {}\n", "", line.remedy);
  }
  return text;
}

std::string DoctorReport::Json() const {
  nlohmann::json checks = nlohmann::json::array();
  for (const DoctorLine& line : lines) {
    checks.push_back({{"check", line.check},
                      {"finding", NameOf(line.finding)},
                      {"found", line.found},
                      {"remedy", line.remedy}});
  }
  return nlohmann::json{{"ok", !has_fault()}, {"checks", std::move(checks)}}.dump(2) + "\n";
}

void AddDoctorCommand(Commands& program) {
  auto [command, arguments] = program.Add<DoctorArguments>(
      "doctor", "Check whether this machine is ready to run a node, with a board or without", Doctor);
  DoctorOptions& options = arguments.options;
  command.Text("--config", options.config, "FILE",
               "Configuration of the node; it decides whether a board is needed, and names the aggregator");
  command.Text("--xclbin", options.xclbin, "FILE", "Bitstream of the board, to check the board with it");
  command.Number("--device", options.device, "N", "Index of the board");
  command.Number("--memory-bytes", options.memory_bytes, "BYTES", "Contiguous memory that the node needs");
  command.Text("--data", options.data_folder, "FOLDER",
               "Folder whose disk must have room; default: that of the learner's state file, if it has one");
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
