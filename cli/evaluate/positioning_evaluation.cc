#include "cli/evaluate/positioning_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/evaluate/room_conditions.h"
#include "cli/model/model_source.h"
#include "cli/number_formats.h"
#include "cli/table.h"
#include "core/estimate/conflation.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/source_calibration.h"
#include "core/runtime/printable.h"
#include "core/scene/gaussian_noise.h"
#include "core/scene/room_examples.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"
#include "node/workload/workload.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::size_t kBatch = 64;
constexpr double kCmPerM = 100;

// Four panels as nodes run them.
class Panels {
 public:
  static absl::StatusOr<Panels> Create(const nn::PositioningNetwork& network, fpga::NumberFormat format) {
    Panels panels;
    for (std::size_t p = 0; p < kPanels; ++p) {
      ASSIGN_OR_RETURN(auto accelerator,
                       accelerator::CreateAccelerator({.format = format, .max_batch = kBatch}, network));
      ASSIGN_OR_RETURN(auto workload, workload::CreatePositioning(
                                          std::move(accelerator),
                                          {.angle_deg = scene::WallAngleDeg(static_cast<scene::Wall>(p))},
                                          network.covariance_scale));
      panels.workloads_.push_back(std::move(workload));
    }
    return panels;
  }

  // The users [first, first + count) of the examples; count <= kBatch. Errors: Internal if a tuple is not
  // usable.
  absl::Status Run(const scene::RoomExamples& examples, std::size_t first, std::size_t count) {
    samples_.subjects.resize(count);
    samples_.features.resize(count * scene::kChannelFeatures);
    for (std::size_t p = 0; p < kPanels; ++p) {
      for (std::size_t i = 0; i < count; ++i) {
        samples_.subjects[i] = static_cast<std::uint32_t>(i);
        examples.Sense(first + i, static_cast<scene::Wall>(p),
                       std::span<float, scene::kChannelFeatures>(
                           samples_.features.data() + i * scene::kChannelFeatures, scene::kChannelFeatures));
      }
      RETURN_IF_ERROR(workloads_[p]->Run(samples_, tuples_[p]));
      if (tuples_[p].subjects.size() != count) {
        return absl::InternalError("the network gave a tuple that is not usable");
      }
    }
    return absl::OkStatus();
  }

  estimate::Gaussian<2> TupleOf(std::size_t panel, std::size_t i) const {
    return estimate::Gaussian<2>::FromTuple(&tuples_[panel].means[2 * i], &tuples_[panel].cholesky[3 * i]);
  }

 private:
  std::vector<std::unique_ptr<workload::Workload>> workloads_;
  source::SensorFrame samples_;
  std::array<estimate::TupleFrame, kPanels> tuples_;
};

// Where the plan of the room says that the panels hang.
estimate::SourceCalibration NominalPanels() {
  constexpr double kHalf = scene::kRoomSideM / 2;
  const estimate::Vector<2> places[] = {{0, -kHalf}, {kHalf, 0}, {0, kHalf}, {-kHalf, 0}};
  return {estimate::MountingPrior(), places};
}

// A minute of an aggregator that looks ten times a second at sixteen users, and draws its conclusions once a
// second.
absl::Status Calibrate(Panels& panels, const PositioningEvaluationOptions& options,
                       estimate::SourceCalibration& calibration) {
  constexpr std::size_t kLooks = 600, kLooksPerSolution = 10, kUsers = 16;
  constexpr double kWindowLooks = 300;
  const scene::RoomExamples examples{scene::MixBits(options.seed, 1), options.conditions};
  std::vector<estimate::SourceCalibration::Observation> tuples(kPanels);
  for (std::size_t look = 0; look < kLooks; ++look) {
    RETURN_IF_ERROR(panels.Run(examples, look * kUsers, kUsers));
    calibration.Forget(std::exp(-1 / kWindowLooks));
    for (std::size_t i = 0; i < kUsers; ++i) {
      for (std::size_t p = 0; p < kPanels; ++p) {
        tuples[p] = {p, calibration.state(p).correction.Apply(panels.TupleOf(p, i))};
      }
      calibration.Observe(tuples);
    }
    if ((look + 1) % kLooksPerSolution == 0) calibration.Solve();
  }
  return absl::OkStatus();
}

}  // namespace

nlohmann::ordered_json ToJsonInCm(const ErrorFigures& figures) {
  return {{"mean_cm", kCmPerM * figures.mean_m},
          {"p90_cm", kCmPerM * figures.p90_m},
          {"p99_cm", kCmPerM * figures.p99_m},
          {"max_cm", kCmPerM * figures.max_m},
          {"nees", figures.nees},
          {"nees_median", figures.nees_median}};
}

absl::StatusOr<PositioningEvaluation> EvaluatePositioning(const nn::PositioningNetwork& network,
                                                          const PositioningEvaluationOptions& options) {
  ASSIGN_OR_RETURN(Panels panels, Panels::Create(network, options.format));
  estimate::SourceCalibration calibration = NominalPanels();
  if (options.calibrated) RETURN_IF_ERROR(Calibrate(panels, options, calibration));

  const scene::RoomExamples examples{scene::MixBits(options.seed, 0), options.conditions};
  std::array<PositionErrors, kPanels> errors;
  for (std::size_t first = 0; first < options.points; first += kBatch) {
    const std::size_t count = std::min(kBatch, options.points - first);
    RETURN_IF_ERROR(panels.Run(examples, first, count));
    for (std::size_t i = 0; i < count; ++i) {
      const scene::RoomPosition user = examples.User(first + i);
      std::vector<estimate::Gaussian<2>> estimates;
      for (std::size_t p = 0; p < kPanels; ++p) {
        estimates.push_back(calibration.state(p).correction.Apply(panels.TupleOf(p, i)));
        ASSIGN_OR_RETURN(const auto fused, estimate::Conflate<2>(estimates));
        errors[p].Add(options.calibrated ? calibration.WithCommon(fused) : fused, {user.x, user.y});
      }
    }
  }

  PositioningEvaluation evaluation;
  for (std::size_t p = 0; p < kPanels; ++p) evaluation[p] = errors[p].Figures();
  return evaluation;
}

namespace {

struct EvaluatePositioningArguments {
  std::string model;
  PositioningEvaluationOptions evaluation;
  std::vector<fpga::NumberFormat> formats{fpga::kNumberFormats.begin(), fpga::kNumberFormats.end()};
  bool conditions = false;
  bool json = false;
};

Table PositionTable(const Column& of_what) {
  return Table({Left("format", 8), of_what, Right("mean", 8), Right("p90", 8), Right("p99", 8),
                Right("max", 8), Right("NEES", 8)});
}

std::string PositionRow(const Table& table, fpga::NumberFormat format, const auto& of_what,
                        const ErrorFigures& figures) {
  const auto cm = [](double m) { return fmt::format("{:.3f}", kCmPerM * m); };
  return table.Row(fpga::NumberFormatName(format), of_what, cm(figures.mean_m), cm(figures.p90_m),
                   cm(figures.p99_m), cm(figures.max_m), fmt::format("{:.3f}", figures.nees));
}

// What four panels fused come to under each condition.
absl::Status EvaluateConditions(const EvaluatePositioningArguments& arguments,
                                const nn::PositioningNetwork& network, nlohmann::ordered_json& json) {
  const Table table = PositionTable(Left("condition", 44));
  if (!arguments.json) std::cout << table.Heading() << "\n";
  for (const fpga::NumberFormat format : arguments.formats) {
    auto& rows = json["formats"][std::string(fpga::NumberFormatName(format))]["conditions"];
    for (const NamedConditions& condition : JudgedConditions()) {
      PositioningEvaluationOptions options = arguments.evaluation;
      options.format = format;
      options.conditions = condition.conditions;
      ASSIGN_OR_RETURN(const auto evaluation, EvaluatePositioning(network, options));
      const ErrorFigures& figures = evaluation.back();
      rows[std::string(condition.name)] = ToJsonInCm(figures);
      if (arguments.json) continue;
      std::cout << PositionRow(table, format, condition.text, figures) << "\n" << std::flush;
    }
  }
  return absl::OkStatus();
}

absl::Status Evaluate(const EvaluatePositioningArguments& arguments) {
  ASSIGN_OR_RETURN(const auto model, LoadPositioningModel(arguments.model));
  nlohmann::ordered_json json = {{"model", model.path},
                                 {"sha256", model.network.sha256},
                                 {"points", arguments.evaluation.points},
                                 {"seed", arguments.evaluation.seed}};
  if (arguments.conditions) {
    RETURN_IF_ERROR(EvaluateConditions(arguments, model.network, json));
    if (arguments.json) std::cout << json.dump() << "\n";
    return absl::OkStatus();
  }
  const Table table = PositionTable(Right("panels"));
  if (!arguments.json) {
    std::cout << fmt::format("{}, {}; errors in cm, ideal NEES 2\n{}\n", runtime::Printable(model.path),
                             runtime::Counted(arguments.evaluation.points, "user"), table.Heading());
  }
  for (const fpga::NumberFormat format : arguments.formats) {
    PositioningEvaluationOptions options = arguments.evaluation;
    options.format = format;
    ASSIGN_OR_RETURN(const auto evaluation, EvaluatePositioning(model.network, options));
    auto& panels = json["formats"][std::string(fpga::NumberFormatName(format))]["panels"];
    for (std::size_t p = 0; p < evaluation.size(); ++p) {
      const ErrorFigures& figures = evaluation[p];
      panels[std::to_string(p + 1)] = ToJsonInCm(figures);
      if (arguments.json) continue;
      std::cout << PositionRow(table, format, p + 1, figures) << "\n";
    }
  }
  if (arguments.json) std::cout << json.dump() << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddEvaluatePositioningCommand(Commands& evaluate) {
  auto [command, arguments] = evaluate.Add<EvaluatePositioningArguments>(
      "positioning", "Measure the errors of the positioning model on held-out users, with one to four panels",
      Evaluate);
  command.Text("--model", arguments.model, "FILE", "Model file; default: the shipped model");
  command.Number("--points", arguments.evaluation.points, "N", "Number of held-out users", {1, 10'000'000});
  command.Number("--seed", arguments.evaluation.seed, "N", "Seed of the held-out users");
  std::vector<std::pair<std::string, std::vector<fpga::NumberFormat>>> formats;
  for (const auto& [word, format] : NumberFormatWords()) formats.push_back({word, {format}});
  command.Choice("--format", arguments.formats, formats, "Number format; default: all of them");
  command.Flag("--conditions", arguments.conditions,
               "Four panels in rooms that differ from the ideal one in one thing at a time");
  command.Flag("--calibrated", arguments.evaluation.calibrated,
               "As an aggregator with mode = \"correct\" in [site.calibration] fuses after a minute");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n  tributary evaluate positioning --format int8_16 --json\n"
      "  tributary evaluate positioning --conditions --calibrated --format int8_16");
}

}  // namespace tributary::cli
