#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/evaluate/positioning_evaluation.h"
#include "cli/model/model_source.h"
#include "cli/number_formats.h"
#include "cli/table.h"

namespace tributary::cli {
namespace {

struct EvaluatePositioningArguments {
  std::string model;
  PositioningEvaluationOptions evaluation;
  std::vector<fpga::NumberFormat> formats{fpga::kNumberFormats.begin(), fpga::kNumberFormats.end()};
  bool json = false;
};

const Table& ErrorTable() {
  static const Table table({Left("format", 8), Right("panels"), Right("mean", 8), Right("p90", 8),
                            Right("p99", 8), Right("max", 8), Right("NEES", 8)});
  return table;
}

void PrintRows(fpga::NumberFormat format, const PositioningEvaluation& evaluation) {
  for (std::size_t p = 0; p < evaluation.by_panels.size(); ++p) {
    const ErrorFigures& figures = evaluation.by_panels[p];
    const auto fixed = [](double value) { return fmt::format("{:.3f}", value); };
    std::cout << ErrorTable().Row(fpga::NumberFormatName(format), p + 1, fixed(figures.mean_cm),
                                  fixed(figures.p90_cm), fixed(figures.p99_cm), fixed(figures.max_cm),
                                  fixed(figures.nees))
              << "\n";
  }
}

absl::Status Evaluate(const EvaluatePositioningArguments& arguments) {
  const auto model = LoadPositioningModel(arguments.model);
  if (!model.ok()) return model.status();
  nlohmann::ordered_json json = {{"model", model->path},
                                 {"sha256", model->network.sha256},
                                 {"points", arguments.evaluation.points},
                                 {"seed", arguments.evaluation.seed}};
  if (!arguments.json) {
    std::cout << fmt::format("{}, {} users; errors in cm, ideal NEES 2\n{}\n", model->path,
                             arguments.evaluation.points, ErrorTable().Heading());
  }
  for (const fpga::NumberFormat format : arguments.formats) {
    PositioningEvaluationOptions options = arguments.evaluation;
    options.format = format;
    const auto evaluation = EvaluatePositioning(model->network, options);
    if (!evaluation.ok()) return evaluation.status();
    if (!arguments.json) PrintRows(format, *evaluation);
    auto& panels = json["formats"][std::string(fpga::NumberFormatName(format))]["panels"];
    for (std::size_t p = 0; p < evaluation->by_panels.size(); ++p) {
      panels[std::to_string(p + 1)] = ToJson(evaluation->by_panels[p]);
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
  command.Json(arguments.json);
  command.Examples("Example:\n  tributary evaluate positioning --format int8_16 --json");
}

}  // namespace tributary::cli
