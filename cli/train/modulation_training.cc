#include "cli/train/modulation_training.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "cli/train/burst_set.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::uint64_t kReports = 20;
constexpr std::size_t kProgressBursts = 4'000;      // standard error of the accuracy below 0.8 %
constexpr std::size_t kCalibrationBursts = 40'000;  // of the temperature about 1 %
constexpr std::size_t kRangeBursts = 4'096;

double Accuracy(nn::ModulationInference& inference, const recordings::LabelledBursts& held_out) {
  const std::size_t count = held_out.classes.size();
  std::vector<float> logits(count * nn::kModulationClasses);
  inference.Run(held_out.bursts, count, logits);
  std::size_t right = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const std::span<const float> row =
        std::span(logits).subspan(n * nn::kModulationClasses, nn::kModulationClasses);
    right += static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()) == held_out.classes[n];
  }
  return static_cast<double>(right) / static_cast<double>(count);
}

absl::Status CalibrateModulation(const ModulationTrainingOptions& options, nn::ModulationNetwork& network) {
  ASSIGN_OR_RETURN(const BurstSet set,
                   BurstSet::Create(options.domain, options.snr, options.seed, BurstPurpose::kCalibration));
  recordings::LabelledBursts bursts;
  set.Draw(0, kCalibrationBursts, bursts);
  nn::ModulationInference inference(network);
  std::vector<float> logits(kCalibrationBursts * nn::kModulationClasses);
  inference.Run(bursts.bursts, kCalibrationBursts, logits);
  network.temperature = static_cast<float>(nn::FitTemperature(logits, bursts.classes));

  network.activation_range.assign(network.architecture->layers.size() + 1, 0.0f);
  inference.UpdateRanges(std::span(bursts.bursts).first(kRangeBursts * radio::kBurstFeatures),
                         network.activation_range);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<nn::ModulationNetwork> TrainModulation(
    const ModulationTrainingOptions& options,
    const std::function<void(const ModulationTrainingProgress&)>& progress) {
  ASSIGN_OR_RETURN(const BurstSet training,
                   BurstSet::Create(options.domain, options.snr, options.seed, BurstPurpose::kTraining));
  ASSIGN_OR_RETURN(const BurstSet held_out_set,
                   BurstSet::Create(options.domain, options.snr, options.seed, BurstPurpose::kProgress));
  recordings::LabelledBursts held_out;
  held_out_set.Draw(0, kProgressBursts, held_out);

  nn::ModulationNetwork network;
  network.architecture = options.architecture;
  network.classes.assign(radio::kModulations.begin(), radio::kModulations.end());
  const std::uint64_t steps = std::max<std::uint64_t>(1, options.bursts / options.batch);
  nn::ModulationTrainer trainer(
      *options.architecture,
      {.steps = steps,
       .peak_learning_rate = options.peak_learning_rate,
       .seed = options.seed,
       .from = options.from ? std::span<const float>(options.from->parameters) : std::span<const float>()});

  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t report_every = std::max<std::uint64_t>(1, steps / kReports);
  double loss = 0;
  recordings::LabelledBursts batch;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    training.Draw((step - 1) * options.batch, options.batch, batch);
    loss += trainer.Step(batch.bursts, batch.classes) / static_cast<double>(report_every);
    if (step % report_every != 0) continue;
    network.parameters = trainer.NetworkParameters();
    nn::ModulationInference inference(network);
    const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress({.bursts = step * options.batch,
              .loss = loss,
              .held_out_accuracy = Accuracy(inference, held_out),
              .elapsed_s = elapsed_s,
              .remaining_s = elapsed_s * static_cast<double>(steps - step) / static_cast<double>(step)});
    loss = 0;
  }
  network.parameters = trainer.NetworkParameters();
  RETURN_IF_ERROR(CalibrateModulation(options, network));
  return network;
}

}  // namespace tributary::cli
