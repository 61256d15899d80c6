#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/evaluate/modulation_evaluation.h"
#include "cli/failure.h"
#include "cli/train/modulation_training.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

using Definition = std::optional<radio::SnrDefinition>;

const std::vector<std::pair<std::string, Definition>>& Definitions() {
  static const std::vector<std::pair<std::string, Definition>> words = {
      {"both", std::nullopt}, {"true", radio::SnrDefinition::kTrue}, {"label", radio::SnrDefinition::kLabel}};
  return words;
}

struct TrainModulationArguments {
  std::string out = "modulation.safetensors";
  std::string name;
  std::string version = "1";
  ModulationTrainingOptions training;
  bool json = false;
};

std::string TrainingSet(const ModulationTrainingOptions& training) {
  std::string snr;
  for (const auto& [word, definition] : Definitions()) {
    if (definition == training.snr) snr = word;
  }
  return fmt::format("simulated bursts, reference domain, seed {}, {} bursts, SNR -20 to 18 dB ({})",
                     training.seed, training.bursts, snr);
}

// One line that is overwritten on a terminal, one line per report elsewhere.
void PrintBursts(const ModulationTrainingProgress& progress, std::uint64_t all) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const std::string line = fmt::format(
      "{:9}/{} bursts  loss {:6.4f}  held-out accuracy {:5.1f} %  {:4.0f} s, {:4.0f} s left", progress.bursts,
      all, progress.loss, 100 * progress.held_out_accuracy, progress.elapsed_s, progress.remaining_s);
  std::fprintf(stderr, "%s%s%s", terminal ? "\r" : "", line.c_str(),
               terminal && progress.remaining_s > 0 ? "" : "\n");
}

absl::Status Train(const TrainModulationArguments& arguments) {
  RETURN_IF_ERROR(CheckOutput(arguments.out));
  ModulationTrainingProgress last;
  ASSIGN_OR_RETURN(nn::ModulationNetwork network,
                   TrainModulation(arguments.training, [&](const ModulationTrainingProgress& progress) {
                     last = progress;
                     PrintBursts(progress, arguments.training.bursts);
                   }));
  network.name = arguments.name.empty() ? fmt::format("modulation-{}", arguments.training.architecture->name)
                                        : arguments.name;
  network.version = arguments.version;
  network.training_set = TrainingSet(arguments.training);
  const std::string file = nn::EncodeModulation(network);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, nn::DecodeModulation(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written.sha256},
                                        {"bytes", file.size()},
                                        {"parameters", written.parameters.size()},
                                        {"seconds", last.elapsed_s},
                                        {"loss", last.loss},
                                        {"temperature", written.temperature},
                                        {"held_out_accuracy", last.held_out_accuracy}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format(
        "{}: {} parameters, {} bytes, sha256 {}\n{:.0f} s of training, temperature {:.3f}\n"
        "`tributary evaluate modulation --model {}` measures it.\n",
        runtime::Printable(arguments.out), written.parameters.size(), file.size(), written.sha256,
        last.elapsed_s, written.temperature, runtime::Printable(arguments.out));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainModulationCommand(Commands& train) {
  auto [command, arguments] = train.Add<TrainModulationArguments>(
      "modulation", "Train a network that recognises the modulation of simulated bursts", Train);
  ModulationTrainingOptions& training = arguments.training;
  std::vector<std::pair<std::string, const nn::ModulationArchitecture*>> networks;
  for (const nn::ModulationArchitecture& architecture : nn::ModulationArchitectures()) {
    networks.emplace_back(architecture.name, &architecture);
  }
  command.Choice("--network", training.architecture, networks, "Network to train");
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Number("--bursts", training.bursts, "N", "Number of bursts; each is drawn once",
                 {1'000, 10'000'000'000});
  command.Number("--batch", training.batch, "N", "Bursts per training step", {16, 4'096});
  command.Number("--learning-rate", training.peak_learning_rate, "RATE",
                 "Highest learning rate of the one-cycle schedule", {1e-6, 1.0});
  command.Number("--seed", training.seed, "N", "Equal seeds give equal models on equal processors");
  command.Choice("--snr", training.snr, Definitions(),
                 "Definition of the SNR: true after the channel, or the label of RadioML 2016.10a");
  command.Text("--name", arguments.name, "NAME", "Name of the model; modulation-<network> if not given");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary train modulation --network table4 --bursts 200000 --out "
      "table4.safetensors");
}

}  // namespace tributary::cli
