#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/evaluate/beacon_evaluation.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/runtime/file.h"

namespace tributary::cli {
namespace {

struct EvaluateBeaconArguments {
  std::vector<std::string> models;
  std::string ranges;
  std::string truth;
  RecordingPart part = {.start = 0.5, .end = 1.0};
  fpga::NumberFormat format = fpga::NumberFormat::kInt16;
  bool json = false;
};

absl::Status Evaluate(const EvaluateBeaconArguments& arguments) {
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
  const auto figures =
      EvaluateBeacons(networks, *recording, {.part = arguments.part, .format = arguments.format});
  if (!figures.ok()) return figures.status();
  if (arguments.json) {
    std::cout << ToJson(*figures, networks).dump() << "\n";
  } else {
    std::cout << ToTable(*figures, networks);
  }
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateBeaconCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluateBeaconArguments>(
      "beacon", "Measure the errors of beacon networks on a recording, each alone and all conflated",
      Evaluate);
  command.Texts("--model", arguments.models, "FILE", "Model files, one per board")->required();
  command.Text("--ranges", arguments.ranges, "FILE", "CSV of time and 24 ranges")->required();
  command.Text("--truth", arguments.truth, "FILE", "CSV of motion capture")->required();
  command.Number("--from", arguments.part.start, "FRACTION",
                 "Start of the part to evaluate, as a fraction of time", {0, 1});
  command.Number("--to", arguments.part.end, "FRACTION", "End of that part", {0, 1});
  command.Choice<fpga::NumberFormat>(
      "--format", arguments.format,
      {{"int16", fpga::NumberFormat::kInt16}, {"float", fpga::NumberFormat::kFloat}},
      "Number format: int16 is the board's arithmetic");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary evaluate beacon --model beacon-1-4-6.safetensors --ranges ranges.csv --truth "
      "truth.csv --from 0.5");
}

}  // namespace tributary::cli
