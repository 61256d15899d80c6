#include "cli/doctor.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/doctor_board.h"
#include "cli/doctor_clock.h"
#include "cli/doctor_report.h"
#include "cli/slot_option.h"
#include "core/runtime/service.h"

namespace tributary {
namespace {

constexpr std::uintmax_t kNeededDiskBytes = 256ull << 20;  // spool and logs of a day without an aggregator
constexpr std::uintmax_t kScarceDiskBytes = 1024ull << 20;

void CheckDisk(const DoctorOptions& options, DoctorReport& report) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(options.data_folder, error);
  if (error) {
    report.lines.push_back({"disk", Finding::kFault,
                            fmt::format("{}: {}", options.data_folder, error.message()),
                            "Make the folder, or give --data FOLDER"});
    return;
  }
  const std::string found = fmt::format("{} MiB free in {}", space.available >> 20, options.data_folder);
  if (space.available < kNeededDiskBytes) {
    report.lines.push_back({"disk", Finding::kFault, found, "Free at least 256 MiB: the spool needs them"});
  } else if (space.available < kScarceDiskBytes) {
    report.lines.push_back({"disk", Finding::kWarning, found, "Less than 1 GiB"});
  } else {
    report.lines.push_back({"disk", Finding::kOk, found, ""});
  }
}

}  // namespace

void AddDoctorCommand(CLI::App& parent, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  auto connection = std::make_shared<ConnectionArguments>();
  connection->aggregator.clear();
  auto slot = std::make_shared<SlotLength>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = parent.add_subcommand("doctor", "Check a board before its first use");
  command->add_option("--xclbin", options->xclbin, "The xclbin that the node will use");
  command->add_option("--device", options->device, "Index of the board")->capture_default_str();
  command->add_option("--memory-bytes", options->memory_bytes, "Contiguous memory that the node needs")
      ->capture_default_str();
  command->add_option("--data", options->data_folder, "Folder of spool and logs")->capture_default_str();
  AddSlotOption(*command, *slot);
  AddConnectionOptions(*command, *connection);
  command->add_flag("--json", *json, "JSON instead of lines");
  command->footer(
      "Example: tributary doctor --xclbin /etc/tributary/positioning.xclbin --aggregator hub:7400\n"
      "Exit status: 0 no fault (there may be warnings), 69 a fault");
  command->callback([options, connection, slot, json, &exit_code] {
    DoctorReport report;
    CheckBoard(*options, report);
    CheckClock(*connection, *slot, report);
    CheckDisk(*options, report);
    const std::string text = *json ? report.Json() : report.Text();
    std::fwrite(text.data(), 1, text.size(), stdout);
    exit_code = report.has_fault() ? kExitUnavailable : kExitOk;
  });
}

}  // namespace tributary
