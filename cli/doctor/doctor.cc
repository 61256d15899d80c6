#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/doctor/doctor_aggregator.h"
#include "cli/doctor/doctor_board.h"
#include "cli/doctor/doctor_clock.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_report.h"
#include "cli/failure.h"
#include "core/runtime/process.h"

namespace tributary::cli {
namespace {

constexpr std::uintmax_t kNeededDiskBytes = 256ull << 20;  // spool and logs of a day without an aggregator
constexpr std::uintmax_t kScarceDiskBytes = 1024ull << 20;

void CheckDisk(const DoctorOptions& options, DoctorReport& report) {
  const std::string folder = options.data_folder.empty() ? "." : options.data_folder;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) {
    report.lines.push_back({"disk", Finding::kFault, fmt::format("{}: {}", folder, error.message()),
                            "Make the folder, or give --data FOLDER"});
    return;
  }
  const std::string found = fmt::format("{} MiB free in {}", space.available >> 20, folder);
  if (space.available < kNeededDiskBytes) {
    report.lines.push_back({"disk", Finding::kFault, found, "Free at least 256 MiB: the spool needs them"});
  } else if (space.available < kScarceDiskBytes) {
    report.lines.push_back({"disk", Finding::kWarning, found, "Less than 1 GiB"});
  } else {
    report.lines.push_back({"disk", Finding::kOk, found, ""});
  }
}

DoctorReport Examine(DoctorOptions options, ConnectionArguments connection) {
  DoctorReport report;
  options.needs_board = !options.xclbin.empty();
  if (!options.config.empty()) CheckConfiguration(options, connection, report);
  if (options.needs_board) {
    CheckBoard(options, report);
  } else {
    report.lines.push_back({"xrt", Finding::kOk,
                            options.config.empty()
                                ? "not needed: no --xclbin, and no --config of a node with a board"
                                : "not needed: the configuration uses no board",
                            ""});
  }
  CheckSynchronisation(options.slot, report);
  if (connection.aggregator.empty()) {
    report.lines.push_back({"aggregator", Finding::kWarning, "not asked, and its clock not compared",
                            "Give --config FILE or --aggregator HOST:PORT"});
  } else if (CheckAggregator(connection, options.site, report)) {
    CheckOffset(connection, options.slot, report);
  }
  CheckDisk(options, report);
  return report;
}

struct DoctorArguments {
  DoctorOptions options;
  ConnectionArguments connection;
  bool json = false;
};

absl::Status Doctor(const DoctorArguments& arguments) {
  const DoctorReport report = Examine(arguments.options, arguments.connection);
  const std::string text = arguments.json ? report.Json() : report.Text();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return report.has_fault() ? AlreadyReported(runtime::kExitUnavailable) : absl::OkStatus();
}

}  // namespace

void AddDoctorCommand(Commands& program) {
  auto [command, arguments] = program.Add<DoctorArguments>(
      "doctor", "Check whether this machine is ready to run a node, with a board or without", Doctor);
  DoctorOptions& options = arguments.options;
  arguments.connection.aggregator.clear();
  command.Text("--config", options.config, "FILE",
               "Configuration of the node; it decides whether a board is needed, and names the aggregator");
  command.Text("--xclbin", options.xclbin, "FILE", "Bitstream of the board, to check the board with it");
  command.Number("--device", options.device, "N", "Index of the board");
  command.Number("--memory-bytes", options.memory_bytes, "BYTES", "Contiguous memory that the node needs");
  command.Text("--data", options.data_folder, "FOLDER", "Folder of spool and logs; its disk must have room");
  command.SlotLength(options.slot);
  command.Connection(arguments.connection);
  command.Json(arguments.json, "Print JSON instead of lines");
  command.Examples(
      "Examples:\n"
      "  tributary doctor --config /etc/tributary/node.toml\n"
      "  tributary doctor --xclbin /etc/tributary/positioning.xclbin --aggregator hub:7400\n\n"
      "Exit status: 0 no fault (there may be warnings), 69 a fault");
}

}  // namespace tributary::cli
