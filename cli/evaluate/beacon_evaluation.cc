#include "cli/evaluate/beacon_evaluation.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "core/estimate/conflation.h"
#include "core/estimate/motion_track.h"
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
  std::vector<int> tags;
  std::unique_ptr<workload::Workload> workload;
};

absl::StatusOr<std::unique_ptr<workload::Workload>> MakeWorkload(const nn::BeaconNetwork& network,
                                                                 fpga::NumberFormat format) {
  ASSIGN_OR_RETURN(auto accelerator,
                   accelerator::CreateAccelerator({.format = format, .max_batch = 1}, network));
  return workload::CreateBeacon(std::move(accelerator), network);
}

absl::StatusOr<std::unique_ptr<workload::Workload>> MakeWorkload(const nn::RangeGeometry& geometry,
                                                                 fpga::NumberFormat format) {
  ASSIGN_OR_RETURN(auto accelerator,
                   accelerator::CreateAccelerator({.format = format, .max_batch = 1}, geometry));
  return workload::CreateGeometry(std::move(accelerator), geometry);
}

absl::StatusOr<std::vector<Board>> MakeBoards(std::span<const BeaconModel> models,
                                              const BeaconRecording& recording, fpga::NumberFormat format) {
  std::vector<Board> boards;
  for (const BeaconModel& model : models) {
    if (TagOf(model) != TagOf(models[0]))
      return absl::InvalidArgumentError("the models are for different tags");
    const std::span<const int> anchors = AnchorsOf(model);
    for (const int anchor : anchors) {
      if (anchor >= recording.anchors())
        return absl::InvalidArgumentError(absl::StrCat("anchor ", anchor, " is not in the recording"));
    }
    for (const int tag : TagsOf(model)) {
      if (tag >= recording.tags())
        return absl::InvalidArgumentError(absl::StrCat("tag ", tag, " is not in the recording"));
    }
    ASSIGN_OR_RETURN(auto workload,
                     std::visit([&](const auto& of) { return MakeWorkload(of, format); }, model));
    boards.push_back({{anchors.begin(), anchors.end()}, TagsOf(model), std::move(workload)});
  }
  return boards;
}

// Bias of each of the anchors' ranges; empty: none.
std::optional<estimate::Vector<2>> GaussNewton(std::span<const int> anchors, std::span<const double> bias_m,
                                               const BeaconRecording& recording,
                                               const BeaconRecording::Sample& sample, int tag,
                                               double height_m) {
  std::vector<scene::Point3> positions;
  std::vector<double> ranges;
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    const double range = recording.Range(sample, anchors[i], tag) - (bias_m.empty() ? 0.0 : bias_m[i]);
    if (!std::isfinite(range)) continue;
    positions.push_back(recording.AnchorM(anchors[i]));
    ranges.push_back(range);
  }
  const auto position = nn::Trilaterate(positions, ranges, height_m);
  if (!position) return std::nullopt;
  return estimate::Vector<2>((*position)[0], (*position)[1]);
}

// What lies outside a part: the rest of the time at the same places, or all of the time at the opposite ones.
std::vector<RecordingPart> RestOf(const RecordingPart& part) {
  using enum RecordingPlace;
  switch (part.place) {
    case kWest:
      return {{.place = kEast}};
    case kEast:
      return {{.place = kWest}};
    case kSouth:
      return {{.place = kNorth}};
    case kNorth:
      return {{.place = kSouth}};
    case kAll:
      break;
  }
  if (part.start == 0.0 && part.end == 1.0) return {part};
  return {{.start = 0.0, .end = part.start}, {.start = part.end, .end = 1.0}};
}

// The median error of each anchor's ranges to the tag on these parts; 0 where there is none.
std::vector<double> MedianBiases(const BeaconRecording& recording, std::span<const int> anchors, int tag,
                                 const std::vector<RecordingPart>& parts) {
  std::vector<double> biases;
  for (const int anchor : anchors) {
    std::vector<double> errors;
    for (const RecordingPart& part : parts) {
      for (const auto& sample : recording.Samples({&anchor, 1}, tag, part)) {
        const scene::Point3& a = recording.AnchorM(anchor);
        errors.push_back(recording.Range(sample, anchor, tag) - std::hypot(sample.truth_m[0] - a[0],
                                                                           sample.truth_m[1] - a[1],
                                                                           sample.truth_m[2] - a[2]));
      }
    }
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    if (!errors.empty()) std::ranges::nth_element(errors, middle);
    biases.push_back(errors.empty() ? 0.0 : *middle);
  }
  return biases;
}

// nullopt if the board gave no usable estimate.
absl::StatusOr<std::optional<estimate::Gaussian<2>>> RunBoard(Board& board, const BeaconRecording& recording,
                                                              const BeaconRecording::Sample& sample, int tag,
                                                              source::SensorFrame& frame,
                                                              estimate::TupleFrame& tuples) {
  frame.subjects.assign(1, static_cast<std::uint32_t>(tag));
  frame.features.clear();
  for (const int anchor : board.anchors) {
    for (const int other : board.tags) frame.features.push_back(recording.Range(sample, anchor, other));
  }
  RETURN_IF_ERROR(board.workload->Run(frame, tuples));
  if (tuples.subjects.empty()) return std::nullopt;
  return estimate::Gaussian<2>::FromTuple(tuples.means.data(), tuples.cholesky.data());
}

// The track of the fused positions, begun anew after a gap.
class Tracker {
 public:
  estimate::Gaussian<2> Update(std::int64_t unix_ns, const estimate::Gaussian<2>& fused) {
    constexpr std::int64_t kLongestGapNs = 1'000'000'000;
    if (last_ns_ == 0 || unix_ns - last_ns_ > kLongestGapNs) {
      track_.Start(fused);
      last_ns_ = unix_ns;
    } else if (unix_ns > last_ns_) {  // two rows of one time stamp are one measurement
      track_.Update(1e-9 * static_cast<double>(unix_ns - last_ns_), fused);
      last_ns_ = unix_ns;
    }
    return track_.Position();
  }

 private:
  std::int64_t last_ns_ = 0;
  estimate::MotionTrack<2> track_{estimate::kRangeMotion};
};

nlohmann::ordered_json ToJson(const PositionErrors& errors) {
  const ErrorFigures figures = errors.Figures();
  nlohmann::ordered_json json{{"mean_m", figures.mean_m}, {"p90_m", figures.p90_m}};
  if (figures.nees > 0.0) json["nees"] = figures.nees;
  return json;
}

}  // namespace

absl::StatusOr<BeaconEvaluation> EvaluateBeacons(std::span<const BeaconModel> models,
                                                 const BeaconRecording& recording,
                                                 const BeaconEvaluationOptions& options) {
  if (models.empty()) return absl::InvalidArgumentError("no model to evaluate");
  ASSIGN_OR_RETURN(std::vector<Board> boards, MakeBoards(models, recording, options.format));
  std::set<int> anchors, tags;
  for (const Board& board : boards) {
    anchors.insert(board.anchors.begin(), board.anchors.end());
    tags.insert(board.tags.begin(), board.tags.end());
  }
  const std::vector<int> used(anchors.begin(), anchors.end());
  const std::vector<int> used_tags(tags.begin(), tags.end());
  const int tag = TagOf(models[0]);
  const auto samples = recording.Samples(used, used_tags, tag, options.part);
  if (samples.empty())
    return absl::InvalidArgumentError("no row of the recording has all ranges and a true position");
  std::vector<int> all(recording.survey.anchors_m.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<double> bias_m = MedianBiases(recording, all, tag, RestOf(options.part));

  double height_m = 0;
  for (const auto& sample : samples) height_m += sample.truth_m[2] / static_cast<double>(samples.size());
  BeaconEvaluation evaluation;
  evaluation.samples = samples.size();
  evaluation.boards.resize(boards.size());
  evaluation.gauss_newton_height_m = height_m;
  source::SensorFrame frame;
  estimate::TupleFrame tuples;
  Tracker tracker;
  for (const auto& sample : samples) {
    const estimate::Vector<2> truth(sample.truth_m[0], sample.truth_m[1]);
    const auto add_gauss_newton = [&](std::span<const int> of, std::span<const double> bias,
                                      PositionErrors& errors) {
      if (const auto position = GaussNewton(of, bias, recording, sample, tag, height_m))
        errors.Add(*position, truth);
    };
    std::vector<estimate::Gaussian<2>> estimates;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      ASSIGN_OR_RETURN(const auto estimate, RunBoard(boards[i], recording, sample, tag, frame, tuples));
      if (!estimate) {
        ++evaluation.unusable;
        continue;
      }
      estimates.push_back(*estimate);
      evaluation.boards[i].estimate.Add(*estimate, truth);
      add_gauss_newton(boards[i].anchors, {}, evaluation.boards[i].gauss_newton);
    }
    add_gauss_newton(used, {}, evaluation.fused.gauss_newton);
    add_gauss_newton(all, bias_m, evaluation.corrected);
    if (estimates.empty()) continue;
    ASSIGN_OR_RETURN(const auto conflated, estimate::Conflate<2>(estimates));
    evaluation.fused.estimate.Add(conflated, truth);
    evaluation.tracked.Add(tracker.Update(recording.ranges.unix_ns(sample.row), conflated), truth);
  }
  return evaluation;
}

nlohmann::ordered_json ToJson(const BeaconEvaluation& evaluation, std::span<const BeaconModel> models) {
  nlohmann::ordered_json boards = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::span<const int> anchors = AnchorsOf(models[i]);
    boards.push_back({{"name", ProvenanceOf(models[i]).name},
                      {"anchors", std::vector<int>(anchors.begin(), anchors.end())},
                      {"tags", TagsOf(models[i])},
                      {EstimatorOf(models[i]), ToJson(evaluation.boards[i].estimate)},
                      {"gauss_newton", ToJson(evaluation.boards[i].gauss_newton)}});
  }
  return {{"tag", TagOf(models[0])},
          {"samples", evaluation.samples},
          {"unusable", evaluation.unusable},
          {"boards", boards},
          {"fused", ToJson(evaluation.fused.estimate)},
          {"tracked", ToJson(evaluation.tracked)},
          {"gauss_newton", ToJson(evaluation.fused.gauss_newton)},
          {"gauss_newton_corrected", ToJson(evaluation.corrected)},
          {"gauss_newton_height_m", evaluation.gauss_newton_height_m}};
}

std::string ToTable(const BeaconEvaluation& evaluation, std::span<const BeaconModel> models) {
  Table table({Left("anchors"), Left("estimator"), Right("mean m"), Right("p90 m"), Right("NEES"),
               Right("Gauss-Newton"), Right("p90 m")});
  const auto fixed = [](double value) { return absl::StrFormat("%.3f", value); };
  const auto add = [&](const std::string& name, const char* estimator, const BeaconErrors& errors) {
    const ErrorFigures own = errors.estimate.Figures(), gauss_newton = errors.gauss_newton.Figures();
    table.Add(name, estimator, fixed(own.mean_m), fixed(own.p90_m), absl::StrFormat("%.2f", own.nees),
              fixed(gauss_newton.mean_m), fixed(gauss_newton.p90_m));
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    add(absl::StrJoin(AnchorsOf(models[i]), ","), EstimatorOf(models[i]), evaluation.boards[i]);
  }
  if (models.size() > 1) add("fused", "", evaluation.fused);
  const ErrorFigures tracked = evaluation.tracked.Figures(), corrected = evaluation.corrected.Figures();
  table.Add("tracked", "", fixed(tracked.mean_m), fixed(tracked.p90_m), absl::StrFormat("%.2f", tracked.nees),
            "", "");
  std::string text = table.Text() + runtime::Counted(evaluation.samples, "sample") +
                     "; NEES is 2 for a consistent estimator\n";
  absl::StrAppendFormat(
      &text,
      "Gauss-Newton of the tag's ranges to all anchors, less their median errors on the rest of the "
      "recording: mean %.3f m, p90 %.3f m\n",
      corrected.mean_m, corrected.p90_m);
  if (evaluation.unusable > 0)
    absl::StrAppend(&text, runtime::Counted(evaluation.unusable, "estimate"), " that a board did not give\n");
  return text;
}

namespace {

struct EvaluateBeaconArguments {
  std::vector<std::string> models;
  BeaconRecording::Files files;
  BeaconEvaluationOptions evaluation = {.part = {.start = 0.5, .end = 1.0}};
  bool json = false;
};

absl::Status Evaluate(const EvaluateBeaconArguments& arguments) {
  std::vector<BeaconModel> models;
  for (const std::string& path : arguments.models) {
    ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
    ASSIGN_OR_RETURN(models.emplace_back(), WithContext(path, DecodeBeaconModel(file)));
  }
  RETURN_IF_ERROR(CheckPart(arguments.evaluation.part));
  ASSIGN_OR_RETURN(const auto recording, BeaconRecording::Load(arguments.files));
  ASSIGN_OR_RETURN(const auto figures, EvaluateBeacons(models, recording, arguments.evaluation));
  std::cout << (arguments.json ? ToJson(figures, models).dump() + "\n" : ToTable(figures, models));
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateBeaconCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluateBeaconArguments>(
      "beacon", "Measure the errors of beacon boards on a recording, each alone, all conflated, and tracked",
      Evaluate);
  command.Texts("--model", arguments.models, "FILE", "Model files, one per board")->required();
  AddRecordingOptions(command, arguments.files);
  AddPartOptions(command, arguments.evaluation.part, "evaluate");
  command.Choice("--format", arguments.evaluation.format,
                 {{"int16", fpga::NumberFormat::kInt16}, {"float", fpga::NumberFormat::kFloat}},
                 "Number format of a network: int16 is the board's arithmetic");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary evaluate beacon --model beacon-1-4-6.safetensors --ranges ranges.csv --truth "
      "truth.csv --from 0.5");
}

}  // namespace tributary::cli
