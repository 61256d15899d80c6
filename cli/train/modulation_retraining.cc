#include "cli/train/modulation_retraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/radio/burst.h"
#include "core/radio/modulation.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kClasses = nn::kModulationClasses;
constexpr std::size_t kHeldOutShare = 5;  // one of so many bursts

void Append(const LabelledBursts& from, std::size_t n, LabelledBursts& to) {
  const auto burst = std::span(from.bursts).subspan(n * radio::kBurstFeatures, radio::kBurstFeatures);
  to.bursts.insert(to.bursts.end(), burst.begin(), burst.end());
  to.classes.push_back(from.classes[n]);
}

struct SplitBursts {
  LabelledBursts training, held_out;
};

// The same share of every class, whatever the order of the bursts.
absl::StatusOr<SplitBursts> Split(const LabelledBursts& bursts, std::uint64_t seed) {
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
      Append(bursts, of_class[k][i], i < held_out ? split.held_out : split.training);
    }
  }
  return split;
}

std::vector<float> LogitsOf(const nn::ModulationNetwork& network, const LabelledBursts& bursts) {
  std::vector<float> logits(bursts.classes.size() * kClasses);
  nn::ModulationInference(network).Run(bursts.bursts, bursts.classes.size(), logits);
  return logits;
}

// NLL and accuracy of the network on these bursts.
void Judge(const nn::ModulationNetwork& network, const LabelledBursts& bursts,
           ModulationRetrainingProgress& progress) {
  const std::vector<float> logits = LogitsOf(network, bursts);
  const double share = 1.0 / static_cast<double>(bursts.classes.size());
  progress.held_out_nll = progress.held_out_accuracy = 0;
  std::array<float, kClasses> belief;
  for (std::size_t n = 0; n < bursts.classes.size(); ++n) {
    nn::LogSoftmax(std::span(logits).subspan(n * kClasses, kClasses), network.temperature, belief);
    progress.held_out_nll -= share * belief[bursts.classes[n]];
    const auto decided = static_cast<std::size_t>(std::ranges::max_element(belief) - belief.begin());
    if (decided == bursts.classes[n]) progress.held_out_accuracy += share;
  }
}

void TurnPhase(double angle, std::span<float, radio::kBurstFeatures> burst) {
  const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
  for (std::size_t t = 0; t < radio::kBurstSamples; ++t) {
    float& i = burst[t];
    float& q = burst[radio::kBurstSamples + t];
    std::tie(i, q) = std::pair(c * i - s * q, s * i + c * q);
  }
}

// One pass over the bursts in a new order. Returns the mean loss.
double TrainEpoch(const LabelledBursts& bursts, std::size_t batch_size, nn::RandomStream& random,
                  nn::ModulationTrainer& trainer) {
  std::vector<std::size_t> order(bursts.classes.size());
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  double loss = 0;
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, order.size() - first);
    LabelledBursts batch;
    for (std::size_t i = 0; i < count; ++i) {
      Append(bursts, order[first + i], batch);
      TurnPhase(random.Uniform(0, 2 * std::numbers::pi),
                std::span(batch.bursts).last<radio::kBurstFeatures>());
    }
    loss += trainer.Step(batch.bursts, batch.classes) * static_cast<double>(count);
  }
  return loss / static_cast<double>(order.size());
}

void Calibrate(const LabelledBursts& all, const LabelledBursts& held_out, nn::ModulationNetwork& network) {
  network.temperature = static_cast<float>(nn::FitTemperature(LogitsOf(network, held_out), held_out.classes));
  nn::ModulationInference(network).UpdateRanges(all.bursts, network.activation_range);
}

}  // namespace

absl::StatusOr<nn::ModulationNetwork> RetrainModulation(
    nn::ModulationNetwork network, const LabelledBursts& bursts, const ModulationRetrainingOptions& options,
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
