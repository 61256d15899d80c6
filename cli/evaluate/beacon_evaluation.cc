#include "cli/evaluate/beacon_evaluation.h"

#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "core/estimate/conflation.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/trilateration.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::cli {
namespace {

struct Board {
  std::vector<int> anchors;
  std::unique_ptr<workload::Workload> workload;
};

absl::StatusOr<std::vector<Board>> MakeBoards(std::span<const nn::BeaconNetwork> networks,
                                              fpga::NumberFormat format) {
  std::vector<Board> boards;
  for (const nn::BeaconNetwork& network : networks) {
    if (network.tag != networks[0].tag)
      return absl::InvalidArgumentError("the models are for different tags");
    for (const int anchor : network.anchors) {
      if (anchor >= scene::kAnchors)
        return absl::InvalidArgumentError(absl::StrCat("anchor ", anchor, " is not in the recording"));
    }
    if (network.tag >= scene::kTags)
      return absl::InvalidArgumentError(absl::StrCat("tag ", network.tag, " is not in the recording"));
    ASSIGN_OR_RETURN(auto accelerator,
                     accelerator::CreateAccelerator({.format = format, .max_batch = 1}, network));
    ASSIGN_OR_RETURN(auto workload, workload::CreateBeacon(std::move(accelerator), network));
    boards.push_back({{network.anchors.begin(), network.anchors.end()}, std::move(workload)});
  }
  return boards;
}

std::optional<estimate::Vector<2>> GaussNewton(std::span<const int> anchors, const scene::RangeRow& row,
                                               int tag, double height_m) {
  std::vector<scene::Point3> positions;
  std::vector<double> ranges;
  for (const int anchor : anchors) {
    positions.push_back(scene::kAnchorPositionsM[static_cast<std::size_t>(anchor)]);
    ranges.push_back(row.Range(anchor, tag));
  }
  const auto position = nn::Trilaterate(positions, ranges, height_m);
  if (!position) return std::nullopt;
  return estimate::Vector<2>((*position)[0], (*position)[1]);
}

absl::StatusOr<estimate::Gaussian<2>> RunBoard(Board& board, const scene::RangeRow& row, int tag,
                                               source::SensorFrame& frame, estimate::TupleFrame& tuples) {
  frame.subjects.assign(1, static_cast<std::uint32_t>(tag));
  frame.features.clear();
  for (const int anchor : board.anchors) frame.features.push_back(row.Range(anchor, tag));
  RETURN_IF_ERROR(board.workload->Run(frame, tuples));
  if (tuples.subjects.empty()) return absl::InternalError("a board gave no usable tuple");
  return estimate::Gaussian<2>::FromTuple(tuples.means.data(), tuples.cholesky.data());
}

nlohmann::ordered_json ToJson(const PositionErrors& errors) {
  const ErrorFigures figures = errors.Figures();
  nlohmann::ordered_json json{{"mean_m", figures.mean_m}, {"p90_m", figures.p90_m}};
  if (figures.nees > 0.0) json["nees"] = figures.nees;
  return json;
}

}  // namespace

absl::StatusOr<BeaconEvaluation> EvaluateBeacons(std::span<const nn::BeaconNetwork> networks,
                                                 const BeaconRecording& recording,
                                                 const BeaconEvaluationOptions& options) {
  if (networks.empty()) return absl::InvalidArgumentError("no model to evaluate");
  ASSIGN_OR_RETURN(std::vector<Board> boards, MakeBoards(networks, options.format));
  std::set<int> distinct;
  for (const Board& board : boards) distinct.insert(board.anchors.begin(), board.anchors.end());
  const std::vector<int> all_anchors(distinct.begin(), distinct.end());
  const int tag = networks[0].tag;
  const auto samples = recording.Samples(all_anchors, tag, options.part);
  if (samples.empty())
    return absl::InvalidArgumentError("no row of the recording has all ranges and a true position");

  double height_m = 0;
  for (const auto& sample : samples) height_m += sample.truth_m[2] / static_cast<double>(samples.size());
  BeaconEvaluation evaluation{samples.size(), std::vector<BeaconErrors>(boards.size()), {}, height_m};
  source::SensorFrame frame;
  estimate::TupleFrame tuples;
  for (const auto& sample : samples) {
    const estimate::Vector<2> truth(sample.truth_m[0], sample.truth_m[1]);
    const auto add_gauss_newton = [&](std::span<const int> anchors, BeaconErrors& errors) {
      const auto position = GaussNewton(anchors, *sample.row, tag, height_m);
      if (position) errors.gauss_newton.Add(*position, truth);
    };
    std::vector<estimate::Gaussian<2>> estimates;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      ASSIGN_OR_RETURN(estimates.emplace_back(), RunBoard(boards[i], *sample.row, tag, frame, tuples));
      evaluation.boards[i].network.Add(estimates.back(), truth);
      add_gauss_newton(boards[i].anchors, evaluation.boards[i]);
    }
    ASSIGN_OR_RETURN(const auto conflated, estimate::Conflate<2>(estimates));
    evaluation.fused.network.Add(conflated, truth);
    add_gauss_newton(all_anchors, evaluation.fused);
  }
  return evaluation;
}

nlohmann::ordered_json ToJson(const BeaconEvaluation& evaluation,
                              std::span<const nn::BeaconNetwork> networks) {
  nlohmann::ordered_json boards = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < networks.size(); ++i) {
    boards.push_back({{"name", networks[i].name},
                      {"anchors", networks[i].anchors},
                      {"network", ToJson(evaluation.boards[i].network)},
                      {"gauss_newton", ToJson(evaluation.boards[i].gauss_newton)}});
  }
  return {{"tag", networks[0].tag},
          {"samples", evaluation.samples},
          {"boards", boards},
          {"fused", ToJson(evaluation.fused.network)},
          {"gauss_newton", ToJson(evaluation.fused.gauss_newton)},
          {"gauss_newton_height_m", evaluation.gauss_newton_height_m}};
}

std::string ToTable(const BeaconEvaluation& evaluation, std::span<const nn::BeaconNetwork> networks) {
  Table table({Left("anchors"), Right("mean m"), Right("p90 m"), Right("NEES"), Right("Gauss-Newton"),
               Right("p90 m")});
  const auto fixed = [](double value) { return absl::StrFormat("%.3f", value); };
  const auto add = [&](const std::string& name, const BeaconErrors& errors) {
    const ErrorFigures network = errors.network.Figures(), gauss_newton = errors.gauss_newton.Figures();
    table.Add(name, fixed(network.mean_m), fixed(network.p90_m), absl::StrFormat("%.2f", network.nees),
              fixed(gauss_newton.mean_m), fixed(gauss_newton.p90_m));
  };
  for (std::size_t i = 0; i < networks.size(); ++i) {
    add(absl::StrJoin(networks[i].anchors, ","), evaluation.boards[i]);
  }
  if (networks.size() > 1) add("fused", evaluation.fused);
  return table.Text() + runtime::Counted(evaluation.samples, "sample") +
         "; NEES is 2 for a consistent estimator\n";
}

namespace {

struct EvaluateBeaconArguments {
  std::vector<std::string> models;
  std::string ranges;
  std::string truth;
  BeaconEvaluationOptions evaluation = {.part = {.start = 0.5, .end = 1.0}};
  bool json = false;
};

absl::Status Evaluate(const EvaluateBeaconArguments& arguments) {
  std::vector<nn::BeaconNetwork> networks;
  for (const std::string& path : arguments.models) {
    ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
    ASSIGN_OR_RETURN(networks.emplace_back(), WithContext(path, nn::DecodeBeacon(file)));
  }
  RETURN_IF_ERROR(CheckPart(arguments.evaluation.part));
  ASSIGN_OR_RETURN(const auto recording, BeaconRecording::Load(arguments.ranges, arguments.truth));
  ASSIGN_OR_RETURN(const auto figures, EvaluateBeacons(networks, recording, arguments.evaluation));
  std::cout << (arguments.json ? ToJson(figures, networks).dump() + "\n" : ToTable(figures, networks));
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
  command.Number("--from", arguments.evaluation.part.start, "FRACTION",
                 "Start of the part to evaluate, as a fraction of time", {0, 1});
  command.Number("--to", arguments.evaluation.part.end, "FRACTION", "End of that part", {0, 1});
  command.Choice("--format", arguments.evaluation.format,
                 {{"int16", fpga::NumberFormat::kInt16}, {"float", fpga::NumberFormat::kFloat}},
                 "Number format: int16 is the board's arithmetic");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary evaluate beacon --model beacon-1-4-6.safetensors --ranges ranges.csv --truth "
      "truth.csv --from 0.5");
}

}  // namespace tributary::cli
