#include "cli/train/positioning_training.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/evaluate/positioning_evaluation.h"
#include "cli/failure.h"
#include "cli/train/room_batches.h"
#include "core/estimate/gaussian.h"
#include "core/nn/positioning/positioning_calibration.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/nn/positioning/positioning_trainer.h"
#include "core/runtime/printable.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kStandardisationExamples = 20'000;
constexpr std::size_t kRangeExamples = 4'096;
constexpr std::size_t kProgressExamples = 1'024;
constexpr std::size_t kCalibrationUsers = 10'000;  // standard error of the median 1 to 2 %
constexpr std::uint64_t kCalibrationSeed = 4;
constexpr double kChiSquareMedian = 1.386;  // of two degrees of freedom: 2 ln 2

// Different users for each purpose.
enum class Purpose : std::uint64_t { kTraining, kStandardisation, kRanges, kProgress };

scene::RoomExamples ExamplesFor(std::uint64_t seed, Purpose purpose) {
  return {scene::MixBits(seed, static_cast<std::uint64_t>(purpose)), scene::RoomConditions::Drawn()};
}

// Those from `first` on, of one panel: features [n × 1024].
void SenseExamples(const scene::RoomExamples& examples, std::size_t first, std::span<float> features) {
  for (; !features.empty(); features = features.subspan(scene::kChannelFeatures)) {
    examples.Sense(first++, scene::Wall::kSouth, features.first<scene::kChannelFeatures>());
  }
}

ErrorFigures Measure(nn::PositioningInference& inference, const scene::RoomExamples& examples,
                     std::size_t count) {
  PositionErrors errors;
  std::vector<float> features(inference.max_batch() * scene::kChannelFeatures);
  std::vector<float> outputs(inference.max_batch() * nn::kGaussianOutputs);
  for (std::size_t first = 0; first < count; first += inference.max_batch()) {
    const std::size_t size = std::min(inference.max_batch(), count - first);
    SenseExamples(examples, first, std::span(features).first(size * scene::kChannelFeatures));
    inference.Run(features, size, outputs);
    for (std::size_t i = 0; i < size; ++i) {
      const nn::GaussianPosition position = nn::PositionFromOutputs(
          inference.network(), std::span(outputs).subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
      const auto& [l11, l21, l22] = position.cholesky;
      estimate::Gaussian<2> estimate{{position.mean[0], position.mean[1]}, {}};
      estimate.cholesky << l11, 0, l21, l22;
      const scene::RoomPosition truth = examples.Label(first + i, scene::Wall::kSouth);
      errors.Add(estimate, {truth.x, truth.y});
    }
  }
  return errors.Figures();
}

}  // namespace

nn::PositioningNetwork TrainPositioning(
    const PositioningTrainingOptions& options,
    const std::function<void(const PositioningTrainingProgress&)>& progress) {
  constexpr std::size_t kInferenceBatch = 64;
  const std::uint64_t steps_per_epoch = std::max<std::uint64_t>(1, options.samples / options.batch);
  const auto start = std::chrono::steady_clock::now();

  nn::PositioningNetwork network;
  FitStandardisation(ExamplesFor(options.seed, Purpose::kStandardisation), kStandardisationExamples, network);
  nn::PositioningTrainer trainer({.batch = options.batch,
                                  .steps = steps_per_epoch * options.epochs,
                                  .peak_learning_rate = options.peak_learning_rate,
                                  .seed = options.seed});
  RoomBatches batches(ExamplesFor(options.seed, Purpose::kTraining), options.batch, network,
                      options.threads > 1);
  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    double loss = 0;
    for (std::uint64_t step = 0; step < steps_per_epoch; ++step) {
      const RoomBatches::Batch batch = batches.Next();
      loss += trainer.Step(batch.features, batch.targets) / static_cast<double>(steps_per_epoch);
    }
    trainer.Export(network);
    nn::PositioningInference inference(network, kInferenceBatch);
    const auto held_out =
        Measure(inference, ExamplesFor(options.seed, Purpose::kProgress), kProgressExamples);
    const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double remaining = static_cast<double>(options.epochs - epoch) / static_cast<double>(epoch);
    progress({.epoch = epoch,
              .epochs = options.epochs,
              .loss = loss,
              .held_out_error_cm = 100 * held_out.mean_m,
              .elapsed_s = elapsed_s,
              .remaining_s = elapsed_s * remaining});
  }

  std::vector<float> features(kRangeExamples * scene::kChannelFeatures);
  SenseExamples(ExamplesFor(options.seed, Purpose::kRanges), 0, features);
  network.activation_range = nn::RangesOf(network, features);
  // Scaling L by s divides squared distances by s². When four panels of an installation that works are fused,
  // half of the users have to lie within the ellipse that half should lie in. The mean instead would follow
  // the few worst worlds, and claim too little in all others.
  network.covariance_scale = 1;
  const auto fused = EvaluatePositioning(network, {.format = fpga::NumberFormat::kFloat,
                                                   .points = kCalibrationUsers,
                                                   .seed = scene::MixBits(options.seed, kCalibrationSeed),
                                                   .conditions = scene::RoomConditions::Working()});
  if (fused.ok() && fused->back().nees_median > 0) {
    network.covariance_scale = static_cast<float>(std::sqrt(fused->back().nees_median / kChiSquareMedian));
  }
  return network;
}

namespace {

struct TrainPositioningArguments {
  std::string out = "positioning.safetensors";
  std::string name = "lis-positioning";
  std::string version = "1";
  PositioningTrainingOptions training;
  bool json = false;
};

// One line that is overwritten on a terminal, one line per epoch elsewhere.
void PrintEpoch(const PositioningTrainingProgress& progress) {
  const std::string line = absl::StrFormat(
      "epoch %d/%d  loss %7.3f  held-out error %6.2f cm (one panel)  %4.0f s, %4.0f s left", progress.epoch,
      progress.epochs, progress.loss, progress.held_out_error_cm, progress.elapsed_s, progress.remaining_s);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%s%s%s", terminal ? "\r" : "", line.c_str(),
               terminal && progress.epoch < progress.epochs ? "" : "\n");
}

absl::Status Train(const TrainPositioningArguments& arguments) {
  RETURN_IF_ERROR(CheckOutput(arguments.out));
  PositioningTrainingProgress last;
  nn::PositioningNetwork network =
      TrainPositioning(arguments.training, [&last](const PositioningTrainingProgress& progress) {
        last = progress;
        PrintEpoch(progress);
      });
  network.name = arguments.name;
  network.version = arguments.version;
  network.training_set =
      absl::StrFormat("simulated room, seed %d, %d epochs of %d users drawn anew", arguments.training.seed,
                      arguments.training.epochs, arguments.training.samples);
  const std::string file = nn::EncodePositioning(network);
  // Gives the identity, and checks what is about to be written.
  ASSIGN_OR_RETURN(const auto written, nn::DecodePositioning(file));
  RETURN_IF_ERROR(WriteOutput(arguments.out, file));

  const PositioningEvaluationOptions held_out{.format = fpga::NumberFormat::kFloat};
  ASSIGN_OR_RETURN(const auto figures, EvaluatePositioning(written, held_out));
  const ErrorFigures& fused = figures.back();
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"model", arguments.out},
                                        {"sha256", written.sha256},
                                        {"bytes", file.size()},
                                        {"seconds", last.elapsed_s},
                                        {"loss", last.loss},
                                        {"covariance_scale", written.covariance_scale},
                                        {"four_panels", ToJsonInCm(fused)}}
                     .dump()
              << "\n";
  } else {
    std::cout << absl::StrFormat(
        "%s: %d bytes, sha256 %s\n%.0f s of training, covariance scale %.3f\n"
        "four panels, %d held-out users: mean %.2f cm, p90 %.2f cm, NEES %.2f (ideal 2)\n",
        runtime::Printable(arguments.out), file.size(), written.sha256, last.elapsed_s,
        written.covariance_scale, held_out.points, 100 * fused.mean_m, 100 * fused.p90_m, fused.nees);
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
  command.Number("--threads", training.threads, "N", "Threads (2 = a second thread draws the users)", {1, 2});
  command.Text("--name", arguments.name, "NAME", "Name of the model");
  command.Text("--model-version", arguments.version, "VERSION", "Version of the model");
  command.Json(arguments.json);
  command.Examples("Example:\n  tributary train positioning --epochs 40 --out positioning.safetensors");
}

}  // namespace tributary::cli
