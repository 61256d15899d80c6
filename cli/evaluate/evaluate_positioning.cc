#include "cli/evaluate/evaluate_positioning.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/evaluate/positioning_evaluation.h"
#include "cli/failure.h"
#include "cli/model/model_file.h"
#include "core/runtime/service.h"

namespace tributary::cli {
namespace {

struct EvaluatePositioningArguments {
  std::string model;
  PositioningEvaluationOptions evaluation;
  std::string format;  // empty: all
  bool json = false;
};

void PrintTable(fpga::NumberFormat format, const PositioningEvaluation& evaluation) {
  for (std::size_t p = 0; p < evaluation.by_panels.size(); ++p) {
    const ErrorFigures& figures = evaluation.by_panels[p];
    std::cout << absl::StrFormat("%-8s %6d %8.3f %8.3f %8.3f %8.3f %8.3f\n",
                                 std::string(fpga::NumberFormatName(format)), p + 1, figures.mean_cm,
                                 figures.p90_cm, figures.p99_cm, figures.max_cm, figures.nees);
  }
}

absl::Status Evaluate(const EvaluatePositioningArguments& arguments) {
  const auto model = LoadPositioningModel(arguments.model);
  if (!model.ok()) return model.status();
  std::vector<fpga::NumberFormat> formats(fpga::kNumberFormats.begin(), fpga::kNumberFormats.end());
  if (!arguments.format.empty()) {
    const auto format = fpga::ParseNumberFormat(arguments.format);
    if (!format.ok()) return UsageError(std::string(format.status().message()));
    formats = {*format};
  }

  nlohmann::ordered_json json = {{"model", model->path},
                                 {"sha256", model->network.sha256},
                                 {"points", arguments.evaluation.points},
                                 {"seed", arguments.evaluation.seed}};
  if (!arguments.json) {
    std::cout << absl::StrFormat("%s, %d users; errors in cm, ideal NEES 2\n%-8s %6s %8s %8s %8s %8s %8s\n",
                                 model->path, arguments.evaluation.points, "format", "panels", "mean", "p90",
                                 "p99", "max", "NEES");
  }
  for (const fpga::NumberFormat format : formats) {
    PositioningEvaluationOptions options = arguments.evaluation;
    options.format = format;
    const auto evaluation = EvaluatePositioning(model->network, options);
    if (!evaluation.ok()) return evaluation.status();
    if (!arguments.json) PrintTable(format, *evaluation);
    auto& panels = json["formats"][std::string(fpga::NumberFormatName(format))]["panels"];
    for (std::size_t p = 0; p < evaluation->by_panels.size(); ++p) {
      panels[std::to_string(p + 1)] = ToJson(evaluation->by_panels[p]);
    }
  }
  if (arguments.json) std::cout << json.dump() << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddEvaluatePositioningCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<EvaluatePositioningArguments>();
  CLI::App* command = parent.add_subcommand(
      "positioning",
      "Measure the errors of the positioning model on held-out users, with one to four panels");
  command->add_option("--model", arguments->model, "Model file; default: the shipped model");
  command->add_option("--points", arguments->evaluation.points, "Number of held-out users")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--seed", arguments->evaluation.seed, "Seed of the held-out users")
      ->capture_default_str();
  command->add_option("--format", arguments->format,
                      "Number format: float, int32, int16, int8 or int8_16; default: all");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer("Example:\n  tributary evaluate positioning --format int8_16 --json");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Evaluate(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("evaluate positioning", status);
  });
}

}  // namespace tributary::cli
