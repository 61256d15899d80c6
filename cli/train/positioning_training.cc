#include "cli/train/positioning_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cli/train/room_batches.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/nn/positioning/positioning_trainer.h"
#include "core/scene/gaussian_noise.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kStandardisationExamples = 20'000;
constexpr std::size_t kRangeExamples = 4'096;
constexpr std::size_t kProgressExamples = 1'024;
constexpr std::size_t kCalibrationExamples = 20'000;  // standard error of the mean NEES about 1 %

// Words of the input format that a value beyond this quantile saturates in: finer steps for all are worth
// more than 1 value in 10,000 clipped.
constexpr double kInputRangeQuantile = 0.9999;

// Different users for each purpose.
enum class Purpose : std::uint64_t { kTraining, kStandardisation, kRanges, kProgress, kCalibration };

scene::RoomExamples ExamplesFor(std::uint64_t seed, Purpose purpose) {
  return {scene::MixBits(seed, static_cast<std::uint64_t>(purpose))};
}

struct SinglePanelFigures {
  double mean_error_m = 0;
  double nees = 0;  // ideal: 2
};

// Runs the examples [0, count) of one panel in batches; visit(first index of the batch, size, outputs [size ×
// 5]).
template <class Visit>
void RunExamples(nn::PositioningInference& inference, const scene::RoomExamples& examples, std::size_t count,
                 Visit visit) {
  std::vector<float> features(inference.max_batch() * scene::kChannelFeatures);
  std::vector<float> outputs(inference.max_batch() * nn::kGaussianOutputs);
  for (std::size_t first = 0; first < count; first += inference.max_batch()) {
    const std::size_t size = std::min(inference.max_batch(), count - first);
    for (std::size_t i = 0; i < size; ++i) {
      examples.Sense(first + i, scene::Wall::kSouth,
                     std::span<float, scene::kChannelFeatures>(features.data() + i * scene::kChannelFeatures,
                                                               scene::kChannelFeatures));
    }
    inference.Run(features, size, outputs);
    visit(first, size, std::span<const float>(outputs));
  }
}

SinglePanelFigures Measure(nn::PositioningInference& inference, const scene::RoomExamples& examples,
                           std::size_t count) {
  SinglePanelFigures figures;
  RunExamples(inference, examples, count,
              [&](std::size_t first, std::size_t size, std::span<const float> outputs) {
                for (std::size_t i = 0; i < size; ++i) {
                  const scene::RoomPosition truth =
                      scene::ToPanelFrame(scene::Wall::kSouth, examples.User(first + i));
                  const nn::GaussianPosition estimate = nn::PositionFromOutputs(
                      inference.network(), outputs.subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
                  const double dx = truth.x - estimate.mean[0];
                  const double dy = truth.y - estimate.mean[1];
                  const double z1 = dx / estimate.cholesky[0];
                  const double z2 = (dy - estimate.cholesky[1] * z1) / estimate.cholesky[2];
                  figures.mean_error_m += std::hypot(dx, dy) / static_cast<double>(count);
                  figures.nees += (z1 * z1 + z2 * z2) / static_cast<double>(count);
                }
              });
  return figures;
}

std::array<float, 6> ActivationRanges(nn::PositioningInference& inference,
                                      const scene::RoomExamples& examples) {
  std::array<float, 6> ranges = {};
  std::vector<float> inputs;
  RunExamples(inference, examples, kRangeExamples, [&](std::size_t, std::size_t, std::span<const float>) {
    const auto activations = inference.activations();
    for (const float v : activations[0]) inputs.push_back(std::abs(v));
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      for (const float v : activations[i]) ranges[i] = std::max(ranges[i], std::abs(v));
    }
  });
  const auto quantile = inputs.begin() + static_cast<std::ptrdiff_t>(kInputRangeQuantile *
                                                                     static_cast<double>(inputs.size() - 1));
  std::ranges::nth_element(inputs, quantile);
  ranges[0] = *quantile;
  return ranges;
}

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

nn::PositioningNetwork TrainPositioning(
    const PositioningTrainingOptions& options,
    const std::function<void(const PositioningTrainingProgress&)>& progress) {
  constexpr std::size_t kInferenceBatch = 64;
  const std::uint64_t steps_per_epoch = std::max<std::uint64_t>(1, options.samples / options.batch);
  const Stopwatch stopwatch;

  nn::PositioningNetwork network;
  FitStandardisation(ExamplesFor(options.seed, Purpose::kStandardisation), kStandardisationExamples, network);
  nn::PositioningTrainer trainer({.batch = options.batch,
                                  .steps = steps_per_epoch * options.epochs,
                                  .peak_learning_rate = options.peak_learning_rate,
                                  .seed = options.seed});
  RoomBatches batches(ExamplesFor(options.seed, Purpose::kTraining), options.batch, network,
                      options.draw_ahead);
  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    double loss = 0;
    for (std::uint64_t step = 0; step < steps_per_epoch; ++step) {
      const RoomBatches::Batch& batch = batches.Next();
      loss += trainer.Step(batch.features, batch.targets) / static_cast<double>(steps_per_epoch);
    }
    trainer.Export(network);
    nn::PositioningInference inference(network, kInferenceBatch);
    const auto held_out =
        Measure(inference, ExamplesFor(options.seed, Purpose::kProgress), kProgressExamples);
    const double elapsed_s = stopwatch.Seconds();
    const double remaining = static_cast<double>(options.epochs - epoch) / static_cast<double>(epoch);
    progress({.epoch = epoch,
              .epochs = options.epochs,
              .loss = loss,
              .held_out_error_cm = 100 * held_out.mean_error_m,
              .elapsed_s = elapsed_s,
              .remaining_s = elapsed_s * remaining});
  }

  nn::PositioningInference inference(network, kInferenceBatch);
  network.activation_range = ActivationRanges(inference, ExamplesFor(options.seed, Purpose::kRanges));
  // Scaling L by s divides NEES by s²; it has to be 2, the dimension.
  const auto held_out =
      Measure(inference, ExamplesFor(options.seed, Purpose::kCalibration), kCalibrationExamples);
  network.covariance_scale = static_cast<float>(std::sqrt(held_out.nees / 2));
  return network;
}

}  // namespace tributary::cli
