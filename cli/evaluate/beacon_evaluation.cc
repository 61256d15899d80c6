#include "cli/evaluate/beacon_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/table.h"
#include "core/estimate/conflation.h"
#include "core/estimate/consistency.h"
#include "core/nn/beacon/trilateration.h"
#include "node/accelerator/create.h"
#include "node/workload/beacon.h"

namespace tributary::cli {
namespace {

// Collects errors of one estimator.
class Errors {
 public:
  void Add(const estimate::Gaussian<2>& estimate, const estimate::Vector<2>& truth) {
    Add(estimate.mean, truth);
    nees_ += estimate::NormalisedErrorSquared(estimate, truth);
  }
  void Add(const estimate::Vector<2>& position, const estimate::Vector<2>& truth) {
    errors_.push_back((position - truth).norm());
  }

  BeaconFigures Figures() const {
    if (errors_.empty()) return {};
    std::vector<double> sorted = errors_;
    std::sort(sorted.begin(), sorted.end());
    const auto count = static_cast<double>(sorted.size());
    return {.mean_m = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count,
            .p90_m = sorted[static_cast<std::size_t>(0.9 * (count - 1))],
            .nees = nees_ / count};
  }

 private:
  std::vector<double> errors_;
  double nees_ = 0.0;
};

// One board: its workload, and its figures so far.
struct Board {
  std::vector<int> anchors;
  std::unique_ptr<workload::BeaconWorkload> workload;
  Errors errors;
  Errors gauss_newton;
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
    auto accelerator = accelerator::CreateAccelerator({.format = format, .max_batch = 1}, network);
    if (!accelerator.ok()) return accelerator.status();
    auto workload = workload::BeaconWorkload::Create(*std::move(accelerator), network);
    if (!workload.ok()) return workload.status();
    boards.push_back({.anchors = {network.anchors.begin(), network.anchors.end()},
                      .workload = *std::move(workload),
                      .errors = {},
                      .gauss_newton = {}});
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

absl::Status RunBoard(Board& board, const BeaconRecording::Sample& sample, int tag,
                      source::SensorFrame& frame, estimate::TupleFrame& tuples,
                      std::vector<estimate::Gaussian<2>>& estimates) {
  frame.subjects.assign(1, static_cast<std::uint32_t>(tag));
  frame.features.clear();
  for (const int anchor : board.anchors) frame.features.push_back(sample.row->Range(anchor, tag));
  if (absl::Status status = board.workload->Run(frame, tuples); !status.ok()) return status;
  if (tuples.subjects.empty()) return absl::InternalError("a board gave no usable tuple");
  estimates.push_back(estimate::Gaussian<2>::FromTuple(tuples.means.data(), tuples.cholesky.data()));
  return absl::OkStatus();
}

nlohmann::ordered_json ToJson(const BeaconFigures& figures) {
  nlohmann::ordered_json json{{"mean_m", figures.mean_m}, {"p90_m", figures.p90_m}};
  if (figures.nees > 0.0) json["nees"] = figures.nees;
  return json;
}

}  // namespace

absl::StatusOr<BeaconEvaluation> EvaluateBeacons(std::span<const nn::BeaconNetwork> networks,
                                                 const BeaconRecording& recording,
                                                 const BeaconEvaluationOptions& options) {
  if (networks.empty()) return absl::InvalidArgumentError("no model to evaluate");
  auto boards = MakeBoards(networks, options.format);
  if (!boards.ok()) return boards.status();
  std::set<int> distinct;
  for (const Board& board : *boards) distinct.insert(board.anchors.begin(), board.anchors.end());
  const std::vector<int> all_anchors(distinct.begin(), distinct.end());
  const int tag = networks[0].tag;
  const auto samples = recording.Samples(all_anchors, tag, options.part);
  if (samples.empty())
    return absl::InvalidArgumentError("no row of the recording has all ranges and a true position");

  BeaconEvaluation evaluation;
  evaluation.samples = samples.size();
  for (const auto& sample : samples) {
    evaluation.gauss_newton_height_m += sample.truth_m[2] / static_cast<double>(samples.size());
  }
  const double height_m = evaluation.gauss_newton_height_m;
  Errors fused;
  Errors fused_gauss_newton;
  source::SensorFrame frame;
  estimate::TupleFrame tuples;
  std::vector<estimate::Gaussian<2>> estimates;
  for (const auto& sample : samples) {
    const estimate::Vector<2> truth(sample.truth_m[0], sample.truth_m[1]);
    estimates.clear();
    for (Board& board : *boards) {
      if (absl::Status status = RunBoard(board, sample, tag, frame, tuples, estimates); !status.ok())
        return status;
      board.errors.Add(estimates.back(), truth);
      if (const auto position = GaussNewton(board.anchors, *sample.row, tag, height_m)) {
        board.gauss_newton.Add(*position, truth);
      }
    }
    const auto conflated = estimate::Conflate<2>(estimates);
    if (!conflated.ok()) return conflated.status();
    fused.Add(*conflated, truth);
    if (const auto position = GaussNewton(all_anchors, *sample.row, tag, height_m)) {
      fused_gauss_newton.Add(*position, truth);
    }
  }
  for (const Board& board : *boards) {
    evaluation.boards.push_back(board.errors.Figures());
    evaluation.gauss_newton.push_back(board.gauss_newton.Figures());
  }
  evaluation.fused = fused.Figures();
  evaluation.fused_gauss_newton = fused_gauss_newton.Figures();
  return evaluation;
}

nlohmann::ordered_json ToJson(const BeaconEvaluation& evaluation,
                              std::span<const nn::BeaconNetwork> networks) {
  nlohmann::ordered_json boards = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < networks.size(); ++i) {
    boards.push_back({{"name", networks[i].name},
                      {"anchors", networks[i].anchors},
                      {"network", ToJson(evaluation.boards[i])},
                      {"gauss_newton", ToJson(evaluation.gauss_newton[i])}});
  }
  return {{"tag", networks[0].tag},
          {"samples", evaluation.samples},
          {"boards", boards},
          {"fused", ToJson(evaluation.fused)},
          {"gauss_newton", ToJson(evaluation.fused_gauss_newton)},
          {"gauss_newton_height_m", evaluation.gauss_newton_height_m}};
}

std::string ToTable(const BeaconEvaluation& evaluation, std::span<const nn::BeaconNetwork> networks) {
  Table table({Left("anchors"), Right("mean m"), Right("p90 m"), Right("NEES"), Right("Gauss-Newton"),
               Right("p90 m")});
  const auto fixed = [](double value) { return absl::StrFormat("%.3f", value); };
  const auto add = [&](const std::string& name, const BeaconFigures& network,
                       const BeaconFigures& classical) {
    table.Add(name, fixed(network.mean_m), fixed(network.p90_m), absl::StrFormat("%.2f", network.nees),
              fixed(classical.mean_m), fixed(classical.p90_m));
  };
  for (std::size_t i = 0; i < networks.size(); ++i) {
    add(absl::StrJoin(networks[i].anchors, ","), evaluation.boards[i], evaluation.gauss_newton[i]);
  }
  if (networks.size() > 1) add("fused", evaluation.fused, evaluation.fused_gauss_newton);
  return table.Text() +
         absl::StrFormat("%d samples; NEES is 2 for a consistent estimator\n", evaluation.samples);
}

}  // namespace tributary::cli
