// `tributary serial version|compute|weights|replay|retrain`: a master of a beacon board.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/evaluate/beacon_model.h"
#include "cli/failure.h"
#include "cli/serial/board_line.h"
#include "cli/train/beacon_recording.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "fpga/model/beacon_model.h"

namespace tributary::cli {
namespace {

struct ComputeArguments {
  LineArguments line;
  std::vector<std::string> inputs;
  bool json = false;
};

struct ModelArguments {
  LineArguments line;
  std::string model;
  BeaconRecording::Files files;
  RecordingPart part;
  std::size_t samples = 1'000;
  bool json = false;
};

absl::StatusOr<serial::Inputs> ParseInputs(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  serial::Inputs inputs;
  bool good = parts.size() == inputs.size();
  for (std::size_t i = 0; good && i < inputs.size(); ++i) good = absl::SimpleAtoi(parts[i], &inputs[i]);
  if (good) return inputs;
  return UsageError(fmt::format("\"{}\": expected three integers, as 12,-40,1023", text));
}

// In 1/1024, as a master scales them ([BEACON], section 5.2).
serial::Word WordOf(double value) {
  return static_cast<serial::Word>(std::floor(value * serial::kValueScale));
}

absl::Status AskVersionOf(const LineArguments& arguments) {
  ASSIGN_OR_RETURN(const auto line, BoardLine::Open(arguments));
  std::cout << line->version() << "\n";
  return absl::OkStatus();
}

absl::Status ComputeOnBoard(const ComputeArguments& arguments) {
  if (arguments.inputs.size() > serial::kMostInputs) {
    return UsageError(fmt::format("a board takes at most {} inputs at once", serial::kMostInputs));
  }
  std::vector<serial::Inputs> inputs;
  for (const std::string& each : arguments.inputs) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), ParseInputs(each));
  }
  ASSIGN_OR_RETURN(const auto line, BoardLine::Open(arguments.line));
  ASSIGN_OR_RETURN(const std::vector<serial::Outputs> outputs, line->Compute(inputs));
  if (arguments.json) {
    std::cout << wire::DumpJson({{"outputs", outputs}}) << "\n";
    return absl::OkStatus();
  }
  for (const serial::Outputs& each : outputs) std::cout << serial::OutputsText(each) << "\n";
  return absl::OkStatus();
}

absl::Status SendWeights(const ModelArguments& arguments) {
  ASSIGN_OR_RETURN(const nn::BeaconNetwork network, ReadBeaconNetwork(arguments.model));
  ASSIGN_OR_RETURN(const auto line, BoardLine::Open(arguments.line));
  const auto weights = fpga::BeaconModel(network).weights();
  const auto middle = weights.begin() + nn::BeaconNetwork::kLayer1;
  RETURN_IF_ERROR(line->Do(serial::SetLayer{1, {weights.begin(), middle}}).status());
  RETURN_IF_ERROR(line->Do(serial::SetLayer{2, {middle, weights.end()}}).status());
  std::cout << fmt::format("{} weights of {} are on the board\n", weights.size(), network.name);
  return absl::OkStatus();
}

// Rows of the recording that the model's board hears, as the board takes them.
struct Row {
  serial::Inputs inputs;
  nn::BeaconOutputs truth_m;
};

absl::StatusOr<std::vector<Row>> RowsOf(const ModelArguments& arguments, const nn::BeaconNetwork& network) {
  RETURN_IF_ERROR(CheckPart(arguments.part));
  ASSIGN_OR_RETURN(const BeaconRecording recording, BeaconRecording::Load(arguments.files));
  std::vector<Row> rows;
  for (const nn::BeaconExample& each : recording.Examples(network.anchors, network.tag, arguments.part)) {
    const nn::BeaconInputs inputs = nn::NormaliseRanges(network, each.ranges_m);
    Row row{.inputs = fpga::BeaconModel::Quantise(inputs), .truth_m = each.position_m};
    rows.push_back(row);
  }
  if (rows.empty())
    return absl::InvalidArgumentError("the recording has no row of the model's anchors and tag");
  return rows;
}

absl::Status ReplayToBoard(const ModelArguments& arguments) {
  ASSIGN_OR_RETURN(const nn::BeaconNetwork network, ReadBeaconNetwork(arguments.model));
  ASSIGN_OR_RETURN(const std::vector<Row> rows, RowsOf(arguments, network));
  ASSIGN_OR_RETURN(const auto line, BoardLine::Open(arguments.line));
  const auto begin = std::chrono::steady_clock::now();
  double error_m = 0;
  for (std::size_t at = 0; at < rows.size(); at += serial::kMostInputs) {
    std::vector<serial::Inputs> inputs;
    for (std::size_t i = at; i < std::min(at + serial::kMostInputs, rows.size()); ++i)
      inputs.push_back(rows[i].inputs);
    ASSIGN_OR_RETURN(const std::vector<serial::Outputs> outputs, line->Compute(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const nn::BeaconOutputs position =
          nn::PositionOf(network, {serial::ValueOf(outputs[i][0]), serial::ValueOf(outputs[i][1])});
      const nn::BeaconOutputs& truth = rows[at + i].truth_m;
      error_m += std::hypot(position[0] - truth[0], position[1] - truth[1]);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  error_m /= static_cast<double>(rows.size());
  if (arguments.json) {
    std::cout << wire::DumpJson({{"rows", rows.size()}, {"mean_error_m", error_m}, {"seconds", seconds}})
              << "\n";
  } else {
    std::cout << fmt::format("{} rows in {:.1f} s, mean error {:.3f} m\n", rows.size(), seconds, error_m);
  }
  return absl::OkStatus();
}

absl::Status RetrainBoard(const ModelArguments& arguments) {
  ASSIGN_OR_RETURN(const nn::BeaconNetwork network, ReadBeaconNetwork(arguments.model));
  ASSIGN_OR_RETURN(const std::vector<Row> rows, RowsOf(arguments, network));
  serial::Retrain retrain;
  const std::size_t count = std::min(arguments.samples, rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Row& row = rows[i * rows.size() / count];
    serial::Sample sample{.inputs = row.inputs, .targets = {}};
    bool within = true;
    for (std::size_t o = 0; o < sample.targets.size(); ++o) {
      sample.targets[o] = WordOf((row.truth_m[o] - network.output_centre_m[o]) / network.output_scale_m);
      within = within && sample.targets[o] >= serial::kLeastValue && sample.targets[o] <= serial::kMostValue;
    }
    if (within) retrain.samples.push_back(sample);
  }
  if (retrain.samples.empty())
    return absl::InvalidArgumentError("all positions are outside of the model's range");
  ASSIGN_OR_RETURN(const auto line, BoardLine::Open(arguments.line));
  ASSIGN_OR_RETURN(const std::string said, line->Do(retrain));
  const std::vector<std::string> parts = absl::StrSplit(said, ' ');
  double before = 0, after = 0;
  int epochs = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &epochs) || !absl::SimpleAtod(parts[1], &before) ||
      !absl::SimpleAtod(parts[2], &after)) {
    return absl::DataLossError("the board did not say what it learned: " + said);
  }
  const bool taken = parts[3] == "taken";
  if (arguments.json) {
    std::cout << wire::DumpJson({{"samples", retrain.samples.size()},
                                 {"left_out", count - retrain.samples.size()},
                                 {"epochs", epochs},
                                 {"error_before_m", before * network.output_scale_m},
                                 {"error_after_m", after * network.output_scale_m},
                                 {"taken", taken}})
              << "\n";
    return absl::OkStatus();
  }
  std::cout << fmt::format(
      "{} samples, {} epochs; held-out error per coordinate {:.3f} m before, {:.3f} m after: {}\n",
      retrain.samples.size(), epochs, before * network.output_scale_m, after * network.output_scale_m,
      taken ? "the new weights are in force" : "the old weights stay");
  return absl::OkStatus();
}

void AddModelOption(Command& command, std::string& model) {
  command.Text("--model", model, "FILE", "Beacon network")->required();
}

}  // namespace

void AddSerialCommands(Commands& serial) {
  auto [version, line] = serial.Add<LineArguments>("version", "Ask a board for its version", AskVersionOf);
  AddLineOptions(version, line);
  version.Examples("Example:\n  tributary serial version --port /dev/ttyUSB0");

  auto [compute, computed] =
      serial.Add<ComputeArguments>("compute", "Let a board compute inputs", ComputeOnBoard);
  AddLineOptions(compute, computed.line);
  compute.Texts("inputs", computed.inputs, "X,X,X", "1 to 15 inputs, in 1/1024")->required();
  compute.Json(computed.json);
  compute.Examples("Example:\n  tributary serial compute --port /dev/ttyUSB0 -- 12,-40,1023 0,0,0");

  auto [weights, sent] =
      serial.Add<ModelArguments>("weights", "Give a board the weights of a model", SendWeights);
  AddLineOptions(weights, sent.line);
  AddModelOption(weights, sent.model);
  weights.Examples(
      "Example:\n  tributary serial weights --port /dev/ttyUSB0 --model beacon-1-4-6.safetensors");

  auto [replay, replayed] = serial.Add<ModelArguments>(
      "replay", "Replay recorded ranges to a board and measure its error", ReplayToBoard);
  AddLineOptions(replay, replayed.line);
  AddModelOption(replay, replayed.model);
  AddRecordingOptions(replay, replayed.files);
  AddPartOptions(replay, replayed.part, "replay");
  replay.Json(replayed.json);
  replay.Examples(
      "Example:\n  tributary serial replay --port /dev/ttyUSB0 --model beacon-1-4-6.safetensors --ranges "
      "ranges.csv "
      "--truth truth.csv");

  auto [retrain, trained] =
      serial.Add<ModelArguments>("retrain", "Let a board learn from recorded ranges", RetrainBoard);
  AddLineOptions(retrain, trained.line);
  AddModelOption(retrain, trained.model);
  AddRecordingOptions(retrain, trained.files);
  AddPartOptions(retrain, trained.part, "learn from");
  retrain.Number("--samples", trained.samples, "N", "Samples at most, spread over the part",
                 {62, serial::kMostSamples});
  retrain.Json(trained.json);
  retrain.Examples(
      "Example:\n  tributary serial retrain --port /dev/ttyUSB0 --model beacon-1-4-6.safetensors --ranges "
      "ranges.csv "
      "--truth truth.csv --samples 500\n\nThe model says how ranges and positions are scaled; its weights "
      "are not sent.");
}

}  // namespace tributary::cli
