#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/train/burst_set.h"
#include "cli/train/modulation_retraining.h"
#include "cli/train/modulation_training.h"
#include "cli/train/radio_domain.h"
#include "core/recordings/labelled_recording.h"
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
  std::string from;
  RadioDomain domain = RadioDomain::kReference;
  std::size_t bursts_per_class = 0;
  std::string iq, labels;
  ModulationTrainingOptions training;
  bool json = false;

  // A fixed set of few bursts, instead of ever new ones.
  bool few() const { return bursts_per_class > 0 || !iq.empty(); }
};

// What the command says of its result.
struct Trained {
  nn::ModulationNetwork network;
  double seconds = 0;
  double loss = 0;
  double held_out_accuracy = 0;
};

std::string TrainingSet(const TrainModulationArguments& arguments) {
  const ModulationTrainingOptions& training = arguments.training;
  if (!arguments.iq.empty()) {
    return fmt::format("recorded bursts, {}", std::filesystem::path(arguments.iq).filename().string());
  }
  std::string snr;
  for (const auto& [word, definition] : Definitions()) {
    if (definition == training.snr) snr = word;
  }
  const std::uint64_t bursts =
      arguments.few() ? arguments.bursts_per_class * nn::kModulationClasses : training.bursts;
  return fmt::format("simulated bursts, {} domain, seed {}, {} bursts, SNR -20 to 18 dB ({})",
                     RadioDomainName(arguments.domain), training.seed, bursts, snr);
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

void PrintEpoch(const ModulationRetrainingProgress& progress) {
  std::fprintf(stderr, "epoch %3zu  loss %6.4f  held out: NLL %6.4f, accuracy %5.1f %%\n", progress.epoch,
               progress.loss, progress.held_out_nll, 100 * progress.held_out_accuracy);
}

absl::StatusOr<Trained> TrainOnNewBursts(const ModulationTrainingOptions& options) {
  Trained trained;
  ASSIGN_OR_RETURN(trained.network, TrainModulation(options, [&](const ModulationTrainingProgress& progress) {
                     trained.seconds = progress.elapsed_s;
                     trained.loss = progress.loss;
                     trained.held_out_accuracy = progress.held_out_accuracy;
                     PrintBursts(progress, options.bursts);
                   }));
  return trained;
}

absl::StatusOr<recordings::LabelledBursts> FewBursts(const TrainModulationArguments& arguments) {
  if (!arguments.iq.empty()) return recordings::ReadLabelledRecording(arguments.iq, arguments.labels);
  const ModulationTrainingOptions& training = arguments.training;
  ASSIGN_OR_RETURN(const BurstSet set,
                   BurstSet::Create(training.domain, training.snr, training.seed, BurstPurpose::kTraining));
  return set.DrawOfEach(arguments.bursts_per_class);
}

absl::StatusOr<Trained> TrainOnFewBursts(const TrainModulationArguments& arguments) {
  ASSIGN_OR_RETURN(const recordings::LabelledBursts bursts, FewBursts(arguments));
  Trained trained;
  double least_nll = std::numeric_limits<double>::infinity();
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(trained.network,
                   RetrainModulation(*arguments.training.from, bursts, {.seed = arguments.training.seed},
                                     [&](const ModulationRetrainingProgress& progress) {
                                       PrintEpoch(progress);
                                       if (progress.held_out_nll >= least_nll) return;
                                       least_nll = progress.held_out_nll;
                                       trained.loss = progress.loss;
                                       trained.held_out_accuracy = progress.held_out_accuracy;
                                     }));
  trained.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return trained;
}

absl::Status CheckTogether(const TrainModulationArguments& arguments) {
  if (arguments.iq.empty() != arguments.labels.empty()) {
    return UsageError("--iq and --labels belong together");
  }
  if (!arguments.iq.empty() && arguments.bursts_per_class > 0) {
    return UsageError("give either --bursts-per-class or --iq");
  }
  if (arguments.few() && arguments.from.empty()) {
    return UsageError("few bursts can only train a model further: give it with --from");
  }
  return absl::OkStatus();
}

absl::Status Train(const TrainModulationArguments& given) {
  TrainModulationArguments arguments = given;
  RETURN_IF_ERROR(CheckTogether(arguments));
  RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.from, arguments.iq, arguments.labels}));
  arguments.training.domain = BurstOptionsOf(arguments.domain);
  std::string training_set = TrainingSet(arguments);
  if (!arguments.from.empty()) {
    ASSIGN_OR_RETURN(LoadedModulationModel loaded, LoadModulationModel(arguments.from));
    training_set = fmt::format("{}; then {}", loaded.network.training_set, training_set);
    arguments.training.architecture = loaded.network.architecture;
    arguments.training.from = std::move(loaded.network);
  }
  ASSIGN_OR_RETURN(Trained trained,
                   arguments.few() ? TrainOnFewBursts(arguments) : TrainOnNewBursts(arguments.training));
  nn::ModulationNetwork& network = trained.network;
  network.name =
      arguments.name.empty() ? fmt::format("modulation-{}", network.architecture->name) : arguments.name;
  network.version = arguments.version;
  network.training_set = training_set;
  const std::string file = nn::EncodeModulation(network);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, nn::DecodeModulation(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written.sha256},
                                        {"bytes", file.size()},
                                        {"parameters", written.parameters.size()},
                                        {"seconds", trained.seconds},
                                        {"loss", trained.loss},
                                        {"temperature", written.temperature},
                                        {"held_out_accuracy", trained.held_out_accuracy}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format(
        "{}: {} parameters, {} bytes, sha256 {}\n{:.0f} s of training, temperature {:.3f}\n"
        "`tributary evaluate modulation --model {}` measures it.\n",
        runtime::Printable(arguments.out), written.parameters.size(), file.size(), written.sha256,
        trained.seconds, written.temperature, runtime::Printable(arguments.out));
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
  command.Choice("--network", training.architecture, networks,
                 "Network to train; with --from that of its model");
  command.Text("--from", arguments.from, "FILE", "Model to train further, instead of random weights");
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Number("--bursts", training.bursts, "N", "Number of bursts; each is drawn once",
                 {1'000, 10'000'000'000});
  command.Number("--batch", training.batch, "N", "Bursts per training step", {16, 4'096});
  command.Number("--learning-rate", training.peak_learning_rate, "RATE",
                 "Highest learning rate of the one-cycle schedule", {1e-6, 1.0});
  command.Number("--seed", training.seed, "N", "Equal seeds give equal models on equal processors");
  command.Choice("--snr", training.snr, Definitions(),
                 "Definition of the SNR: true after the channel, or the label of RadioML 2016.10a");
  command.Choice("--domain", arguments.domain, RadioDomainWords(), "Where the bursts come from");
  command.Number(
      "--bursts-per-class", arguments.bursts_per_class, "N",
      "With --from: so few bursts of each modulation, used again and again; a fifth is held out and "
      "says when to stop",
      {5, 1'000'000});
  command.Text("--iq", arguments.iq, "FILE",
               "With --from: recorded bursts instead, as `tributary infer --iq` takes them");
  command.Text("--labels", arguments.labels, "FILE", "Their modulations, one name a line");
  command.Text("--name", arguments.name, "NAME", "Name of the model; modulation-<network> if not given");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n"
      "  tributary train modulation --network table4 --bursts 200000 --out table4.safetensors\n"
      "  tributary train modulation --from models/modulation.safetensors --domain foreign "
      "--bursts-per-class 200 --out foreign.safetensors\n\n"
      "With --from alone, training goes on with --bursts new bursts; take another --seed than before.");
}

}  // namespace tributary::cli
