#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/evaluate/fusion_claims.h"
#include "cli/evaluate/modulation_evaluation.h"
#include "cli/evaluate/modulation_report.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/table.h"
#include "cli/train/radio_domain.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

struct EvaluateModulationArguments {
  std::string model;
  ModulationEvaluationOptions evaluation;
  RadioDomain domain = RadioDomain::kReference;
  std::vector<radio::SnrDefinition> snr = {radio::SnrDefinition::kTrue, radio::SnrDefinition::kLabel};
  std::string report;
  bool json = false;
};

const char* SnrName(radio::SnrDefinition snr) {
  return snr == radio::SnrDefinition::kTrue ? "true" : "label";
}

std::string Percent(double share) { return fmt::format("{:.1f}", 100 * share); }

nlohmann::ordered_json ToJson(const DecisionFigures& decision) {
  const ClassificationFigures all = decision.all();
  nlohmann::ordered_json json = {{"decisions", all.count()}, {"accuracy", all.accuracy()}};
  if (all.has_probabilities()) {
    json["nll"] = all.nll();
    json["expected_calibration_error"] = all.expected_calibration_error();
  }
  for (const ClassificationFigures& figures : decision.by_snr) {
    json["accuracy_by_snr"].push_back(figures.accuracy());
    if (figures.has_probabilities()) json["nll_by_snr"].push_back(figures.nll());
    json["confusion_by_snr"].push_back(figures.confusion());
  }
  for (std::size_t k = 0; k < radio::kModulations.size(); ++k) {
    json["accuracy_by_class"][std::string(radio::kModulations[k])] = all.accuracy(k);
  }
  json["confusion"] = all.confusion();
  return json;
}

std::string DecisionTable(const ModulationEvaluation& evaluation) {
  Table table({Left("decision"), Right("accuracy %"), Right("at 0 dB"), Right("at 18 dB"), Right("NLL"),
               Right("calibration error %")});
  for (const DecisionFigures& decision : evaluation) {
    const ClassificationFigures all = decision.all();
    table.Add(decision.name, Percent(all.accuracy()), Percent(decision.by_snr[kSnrs / 2].accuracy()),
              Percent(decision.by_snr.back().accuracy()),
              all.has_probabilities() ? fmt::format("{:.3f}", all.nll()) : "",
              all.has_probabilities() ? Percent(all.expected_calibration_error()) : "");
  }
  return table.Text();
}

// One burst, at 10 dB and more: what a class is taken for, if not for itself.
std::string ConfusionTable(const DecisionFigures& one) {
  ClassificationFigures high;
  for (std::size_t snr = 15; snr < kSnrs; ++snr) high.Add(one.by_snr[snr]);
  Table table({Left("class"), Right("accuracy %"), Left("most often taken for"), Right("%")});
  for (std::size_t truth = 0; truth < radio::kModulations.size(); ++truth) {
    auto row = high.confusion()[truth];
    std::uint64_t count = 0;
    for (const std::uint64_t decided : row) count += decided;
    row[truth] = 0;
    const auto other = std::ranges::max_element(row);
    table.Add(radio::kModulations[truth], Percent(high.accuracy(truth)),
              radio::kModulations[static_cast<std::size_t>(other - row.begin())],
              Percent(static_cast<double>(*other) / static_cast<double>(std::max<std::uint64_t>(count, 1))));
  }
  return table.Text();
}

std::string SnrTable(const ModulationEvaluation& evaluation) {
  Table table({Right("SNR dB"), Right("one"), Right("vote of 10"), Right("conflation of 10"),
               Right("4 receivers"), Right("8 receivers")});
  for (std::size_t snr = 0; snr < kSnrs; ++snr) {
    const auto at = [&](std::string_view decision) {
      return Percent(FindDecision(evaluation, decision).by_snr[snr].accuracy());
    };
    table.Add(SnrDb(snr), at("one"), at("vote_of_10"), at("conflation_of_10"), at("receivers_4"),
              at("receivers_8"));
  }
  return table.Text();
}

std::string ClaimTable(const std::vector<FusionClaim>& claims) {
  Table table({Left("claim"), Left("holds"), Right("least margin"), Left("unit"), Right("at dB")});
  for (const FusionClaim& claim : claims) {
    table.Add(claim.promise, claim.holds() ? "yes" : "no", fmt::format("{:+.3f}", claim.worst().margin),
              claim.unit, fmt::format("{:.0f}", claim.worst().snr_db));
  }
  return table.Text();
}

nlohmann::ordered_json ToJson(const FusionClaim& claim) {
  nlohmann::ordered_json json = {
      {"name", claim.name}, {"promise", claim.promise}, {"unit", claim.unit}, {"holds", claim.holds()}};
  for (const FusionComparison& each : claim.comparisons) {
    json["comparisons"].push_back({{"snr_db", each.snr_db},
                                   {"value", each.value},
                                   {"reference", each.reference},
                                   {"margin", each.margin}});
  }
  return json;
}

absl::Status WriteReport(const EvaluateModulationArguments& arguments, const LoadedModulationModel& model,
                         const std::vector<EvaluatedDefinition>& definitions) {
  const std::string page = ModulationReport(
      {{"model", model.path},
       {"network", std::string(model.network.architecture->name)},
       {"sha256", model.network.sha256},
       {"training", model.network.training_set},
       {"format", std::string(fpga::NumberFormatName(arguments.evaluation.format))},
       {"transmissions per class and SNR", fmt::format("{}", arguments.evaluation.transmissions)},
       {"seed", fmt::format("{}", arguments.evaluation.seed)}},
      definitions);
  return WriteOutput(arguments.report, page);
}

absl::Status Evaluate(const EvaluateModulationArguments& arguments) {
  RETURN_IF_ERROR(CheckOutput(arguments.report, {arguments.model}));
  ASSIGN_OR_RETURN(const auto model, LoadModulationModel(arguments.model));
  std::vector<EvaluatedDefinition> definitions;
  nlohmann::ordered_json json = {{"model", model.path},
                                 {"sha256", model.network.sha256},
                                 {"network", model.network.architecture->name},
                                 {"temperature", model.network.temperature},
                                 {"classes", model.network.classes},
                                 {"format", fpga::NumberFormatName(arguments.evaluation.format)},
                                 {"domain", RadioDomainName(arguments.domain)},
                                 {"transmissions", arguments.evaluation.transmissions},
                                 {"seed", arguments.evaluation.seed}};
  for (std::size_t snr = 0; snr < kSnrs; ++snr) json["snr_db"].push_back(SnrDb(snr));
  for (const radio::SnrDefinition snr : arguments.snr) {
    ModulationEvaluationOptions options = arguments.evaluation;
    options.domain = BurstOptionsOf(arguments.domain);
    options.domain.snr = snr;
    ASSIGN_OR_RETURN(auto evaluated, EvaluateModulation(model.network, options));
    definitions.push_back({SnrName(snr), std::move(evaluated)});
    const ModulationEvaluation& evaluation = definitions.back().evaluation;
    for (const DecisionFigures& decision : evaluation) {
      json["definitions"][SnrName(snr)][decision.name] = ToJson(decision);
    }
    const std::vector<FusionClaim> claims = CheckFusionClaims(evaluation);
    for (const FusionClaim& claim : claims) json["fusion_claims"][SnrName(snr)].push_back(ToJson(claim));
    if (arguments.json) continue;
    std::cout << fmt::format(
        "{}, {}, SNR definition \"{}\", {} of each class at each SNR\n\n{}\n{}\n"
        "Fusion:\n{}\nOne burst, 10 dB and more:\n{}\n",
        runtime::Printable(model.path), model.network.architecture->name, SnrName(snr),
        runtime::Counted(options.transmissions, "transmission"), DecisionTable(evaluation),
        SnrTable(evaluation), ClaimTable(claims), ConfusionTable(FindDecision(evaluation, "one")));
  }
  if (arguments.json) std::cout << json.dump() << "\n";
  return arguments.report.empty() ? absl::OkStatus() : WriteReport(arguments, model, definitions);
}

}  // namespace

void AddEvaluateModulationCommand(Commands& evaluate) {
  using enum radio::SnrDefinition;
  auto [command, arguments] = evaluate.Add<EvaluateModulationArguments>(
      "modulation",
      "Measure how often a model recognises the modulation of held-out bursts, with one receiver and several",
      Evaluate);
  command.Text("--model", arguments.model, "FILE", "Model file; default: the shipped model");
  command.Number("--transmissions", arguments.evaluation.transmissions, "N",
                 "Held-out transmissions of each class at each of 20 SNRs; each is heard ten times",
                 {1, 100'000});
  command.Number("--seed", arguments.evaluation.seed, "N", "Seed of the held-out transmissions");
  command.Choice("--snr", arguments.snr, {{"true", {kTrue}}, {"label", {kLabel}}, {"both", {kTrue, kLabel}}},
                 "Definition of the SNR: true after the channel, or the label of RadioML 2016.10a");
  command.Choice("--domain", arguments.domain, RadioDomainWords(),
                 "Where the bursts come from: as in training, or another radio and another place");
  command.Choice("--format", arguments.evaluation.format,
                 {{"float", fpga::NumberFormat::kFloat}, {"int8", fpga::NumberFormat::kInt8}},
                 "Number format: as trained, or that of the FPGA block");
  command.Text("--report", arguments.report, "FILE", "HTML page to write: curves and confusion matrices");
  command.Json(arguments.json);
  command.Examples("Example:\n  tributary evaluate modulation --transmissions 10 --report modulation.html");
}

}  // namespace tributary::cli
