#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/evaluate/positioning_evaluation.h"
#include "cli/failure.h"
#include "cli/train/positioning_training.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/runtime/file.h"

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
  PositioningTrainingOptions training = arguments.training;
  training.draw_ahead = arguments.threads > 1;
  PositioningTrainingProgress last;
  nn::PositioningNetwork network =
      TrainPositioning(training, [&last](const PositioningTrainingProgress& progress) {
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

void AddTrainPositioningCommand(Commands& train) {
  auto [command, arguments] = train.Add<TrainPositioningArguments>(
      "positioning", "Train the positioning network on the simulated room", Train);
  PositioningTrainingOptions& training = arguments.training;
  command.Text("--out", arguments.out, "FILE", "Model file to write");
  command.Number("--samples", training.samples, "N", "Number of users per epoch; each epoch draws new ones",
                 {1'000, 100'000'000});
  command.Number("--epochs", training.epochs, "N", "Number of epochs", {1, 100'000});
  command.Number("--batch", training.batch, "N", "Users per training step", {16, 4'096});
  command.Number("--learning-rate", training.peak_learning_rate, "RATE",
                 "Highest learning rate of the one-cycle schedule", {1e-6, 1.0});
  command.Number("--seed", training.seed, "N", "Equal seeds give equal models on equal processors");
  command.Number("--threads", arguments.threads, "N", "Threads (2 = a second thread draws the users)",
                 {1, 2});
  command.Text("--name", arguments.name, "NAME", "Name of the model");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  command.Json(arguments.json);
  command.Examples("Example:\n  tributary train positioning --epochs 40 --out positioning.safetensors");
}

}  // namespace tributary::cli
