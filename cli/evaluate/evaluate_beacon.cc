#include "cli/evaluate/evaluate_beacon.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/evaluate/beacon_evaluation.h"
#include "cli/failure.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_file.h"
#include "core/runtime/file.h"
#include "core/runtime/service.h"

namespace tributary::cli {
namespace {

struct EvaluateBeaconArguments {
  std::vector<std::string> models;
  std::string ranges;
  std::string truth;
  RecordingPart part = {.start = 0.5, .end = 1.0};
  std::string format = "int16";
  bool json = false;
};

absl::Status Evaluate(const EvaluateBeaconArguments& arguments) {
  const auto format = fpga::ParseNumberFormat(arguments.format);
  if (!format.ok()) return UsageError(std::string(format.status().message()));
  std::vector<nn::BeaconNetwork> networks;
  for (const std::string& path : arguments.models) {
    const auto file = runtime::ReadFile(path);
    if (!file.ok()) return file.status();
    auto network = nn::DecodeBeacon(*file);
    if (!network.ok()) {
      return absl::Status(network.status().code(), absl::StrCat(path, ": ", network.status().message()));
    }
    networks.push_back(*std::move(network));
  }
  const auto recording = BeaconRecording::Load(arguments.ranges, arguments.truth);
  if (!recording.ok()) return recording.status();
  const auto figures = EvaluateBeacons(networks, *recording, {.part = arguments.part, .format = *format});
  if (!figures.ok()) return figures.status();
  if (arguments.json) {
    std::cout << ToJson(*figures, networks).dump() << "\n";
  } else {
    std::cout << ToTable(*figures, networks);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateBeaconCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<EvaluateBeaconArguments>();
  CLI::App* command = parent.add_subcommand(
      "beacon", "Measure the errors of beacon networks on a recording, each alone and all conflated");
  command->add_option("--model", arguments->models, "Model files, one per board")->required();
  command->add_option("--ranges", arguments->ranges, "CSV of time and 24 ranges")->required();
  command->add_option("--truth", arguments->truth, "CSV of motion capture")->required();
  command->add_option("--from", arguments->part.start, "Start of the part to evaluate, as a fraction of time")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--to", arguments->part.end, "End of that part")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--format", arguments->format, "int16 (the board's arithmetic) or float")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Example:\n  tributary evaluate beacon --model beacon-1-4-6.safetensors --ranges ranges.csv --truth "
      "truth.csv --from 0.5");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Evaluate(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("evaluate beacon", status);
  });
}

}  // namespace tributary::cli
