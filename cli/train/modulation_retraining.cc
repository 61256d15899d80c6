#include "cli/train/modulation_retraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_evaluation.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"
#include "core/radio/burst.h"
#include "core/radio/modulation.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kClasses = nn::kModulationClasses;
constexpr std::size_t kHeldOutShare = 5;  // one of so many bursts

struct SplitBursts {
  recordings::LabelledBursts training, held_out;
};

// The same share of every class, whatever the order of the bursts.
absl::StatusOr<SplitBursts> Split(const recordings::LabelledBursts& bursts, std::uint64_t seed) {
  std::array<std::vector<std::size_t>, kClasses> of_class;
  for (std::size_t n = 0; n < bursts.classes.size(); ++n) of_class.at(bursts.classes[n]).push_back(n);
  nn::RandomStream random(seed);
  SplitBursts split;
  for (std::size_t k = 0; k < kClasses; ++k) {
    if (of_class[k].size() < kHeldOutShare) {
      return absl::InvalidArgumentError(fmt::format("{} has {} bursts; every modulation needs at least {}",
                                                    radio::kModulations[k], of_class[k].size(),
                                                    kHeldOutShare));
    }
    random.Shuffle(of_class[k]);
    const std::size_t held_out = of_class[k].size() / kHeldOutShare;
    for (std::size_t i = 0; i < of_class[k].size(); ++i) {
      (i < held_out ? split.held_out : split.training).Append(bursts, of_class[k][i]);
    }
  }
  return split;
}

// NLL and accuracy of the network on these bursts.
void Judge(const nn::ModulationNetwork& network, const recordings::LabelledBursts& bursts,
           ModulationRetrainingProgress& progress) {
  const nn::ModulationScore score = nn::ScoreModulation(network, bursts.bursts, bursts.classes);
  progress.held_out_nll = score.nll;
  progress.held_out_accuracy = score.accuracy;
}

// One pass over the bursts in a new order. Returns the mean loss.
double TrainEpoch(const recordings::LabelledBursts& bursts, std::size_t batch_size, nn::RandomStream& random,
                  nn::ModulationTrainer& trainer) {
  std::vector<std::size_t> order(bursts.classes.size());
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  double loss = 0;
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, order.size() - first);
    recordings::LabelledBursts batch;
    for (std::size_t i = 0; i < count; ++i) {
      batch.Append(bursts, order[first + i]);
      radio::TurnPhase(random.Uniform(0, 2 * std::numbers::pi), batch.burst(i));
    }
    loss += trainer.Step(batch.bursts, batch.classes) * static_cast<double>(count);
  }
  return loss / static_cast<double>(order.size());
}

void Calibrate(const recordings::LabelledBursts& all, const recordings::LabelledBursts& held_out,
               nn::ModulationNetwork& network) {
  network.temperature = nn::ModulationTemperature(network, held_out.bursts, held_out.classes);
  nn::ModulationInference(network).UpdateRanges(all.bursts, network.activation_range);
}

}  // namespace

absl::StatusOr<nn::ModulationNetwork> RetrainModulation(
    nn::ModulationNetwork network, const recordings::LabelledBursts& bursts,
    const ModulationRetrainingOptions& options,
    const std::function<void(const ModulationRetrainingProgress&)>& progress) {
  ASSIGN_OR_RETURN(const SplitBursts split, Split(bursts, options.seed));
  const std::size_t steps_per_epoch = (split.training.classes.size() + options.batch - 1) / options.batch;
  nn::ModulationTrainer trainer(*network.architecture, {.steps = options.epochs * steps_per_epoch,
                                                        .peak_learning_rate = options.learning_rate,
                                                        .seed = options.seed,
                                                        .from = network.parameters});

  ModulationRetrainingProgress state;
  Judge(network, split.held_out, state);
  progress(state);
  double least_nll = state.held_out_nll;
  nn::RandomStream random = nn::RandomStream::Of(options.seed, 1);
  nn::ModulationNetwork candidate = network;
  for (std::size_t epoch = 1, best = 0; epoch <= options.epochs && epoch - best <= options.patience;
       ++epoch) {
    state.epoch = epoch;
    state.loss = TrainEpoch(split.training, options.batch, random, trainer);
    candidate.parameters = trainer.NetworkParameters();
    Judge(candidate, split.held_out, state);
    progress(state);
    if (state.held_out_nll >= least_nll) continue;
    least_nll = state.held_out_nll;
    network.parameters = candidate.parameters;
    best = epoch;
  }
  Calibrate(bursts, split.held_out, network);
  return network;
}

}  // namespace tributary::cli
