#include "cli/train/train_positioning.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/evaluate/positioning_evaluation.h"
#include "cli/failure.h"
#include "cli/train/positioning_training.h"
#include "core/nn/positioning/positioning_file.h"
#include "core/runtime/file.h"
#include "core/runtime/service.h"

namespace tributary::cli {
namespace {

struct TrainPositioningArguments {
  std::string out = "positioning.safetensors";
  std::string name = "lis-positioning";
  std::string version = "1";
  PositioningTrainingOptions training;
  int threads = 2;
  bool json = false;
};

// One line that is overwritten on a terminal, one line per epoch elsewhere.
void PrintProgress(const PositioningTrainingProgress& progress) {
  const std::string line = absl::StrFormat(
      "epoch %d/%d  loss %7.3f  held-out error %6.2f cm (one panel)  %4.0f s, %4.0f s left", progress.epoch,
      progress.epochs, progress.loss, progress.held_out_error_cm, progress.elapsed_s, progress.remaining_s);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%s%s%s", terminal ? "\r" : "", line.c_str(),
               terminal && progress.epoch < progress.epochs ? "" : "\n");
}

absl::Status Train(const TrainPositioningArguments& arguments) {
  PositioningTrainingProgress last;
  nn::PositioningNetwork network =
      TrainPositioning(arguments.training, [&last](const PositioningTrainingProgress& progress) {
        last = progress;
        PrintProgress(progress);
      });
  network.name = arguments.name;
  network.version = arguments.version;
  network.training_set =
      absl::StrFormat("simulated room, seed %d, %d epochs of %d users drawn anew", arguments.training.seed,
                      arguments.training.epochs, arguments.training.samples);
  const std::string file = nn::EncodePositioning(network);
  const auto written =
      nn::DecodePositioning(file);  // gives the identity, and checks what is about to be written
  if (!written.ok()) return written.status();
  if (absl::Status status = WriteOutput(arguments.out, file); !status.ok()) return status;

  const auto figures = EvaluatePositioning(*written, {.format = fpga::NumberFormat::kFloat});
  if (!figures.ok()) return figures.status();
  const ErrorFigures& fused = figures->by_panels.back();
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written->sha256},
                                        {"bytes", file.size()},
                                        {"seconds", last.elapsed_s},
                                        {"loss", last.loss},
                                        {"covariance_scale", written->covariance_scale},
                                        {"four_panels", ToJson(fused)}}
                     .dump()
              << "\n";
  } else {
    std::cout << absl::StrFormat(
        "%s: %d bytes, sha256 %s\n%.0f s of training, covariance scale %.3f\n"
        "four panels, %d held-out users: mean %.2f cm, p90 %.2f cm, NEES %.2f (ideal 2)\n",
        arguments.out, file.size(), written->sha256, last.elapsed_s, written->covariance_scale,
        figures->points, fused.mean_cm, fused.p90_cm, fused.nees);
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainPositioningCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<TrainPositioningArguments>();
  CLI::App* command =
      parent.add_subcommand("positioning", "Train the positioning network on the simulated room");
  command->add_option("--out", arguments->out, "Model file to write")->capture_default_str();
  command
      ->add_option("--samples", arguments->training.samples,
                   "Number of users per epoch; each epoch draws new ones")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  command->add_option("--epochs", arguments->training.epochs, "Number of epochs")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--batch", arguments->training.batch, "Users per training step")
      ->check(CLI::Range(16, 4'096))
      ->capture_default_str();
  command
      ->add_option("--learning-rate", arguments->training.peak_learning_rate,
                   "Highest learning rate of the one-cycle schedule")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  command->add_option("--seed", arguments->training.seed, "Equal seeds give equal models on equal processors")
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads (2 = a second thread draws the users)")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  command->add_option("--name", arguments->name, "Name of the model")->capture_default_str();
  command->add_option("--model-version", arguments->version, "Version of the model")->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the summary as JSON");
  command->footer("Example:\n  tributary train positioning --epochs 40 --out positioning.safetensors");
  command->callback([arguments, &exit_code] {
    arguments->training.draw_ahead = arguments->threads > 1;
    const absl::Status status = Train(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("train positioning", status);
  });
}

}  // namespace tributary::cli
