#include "node/workload/beacon_board.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/nn/beacon/beacon_retraining.h"
#include "core/status/macros.h"

namespace tributary::workload {
namespace {

serial::Word WordOf(double value) {
  if (!std::isfinite(value)) return 0;
  const double words = std::round(value * serial::kValueScale);
  return static_cast<serial::Word>(
      std::clamp(words, double{serial::kLeastValue}, double{serial::kMostValue}));
}

}  // namespace

BeaconBoard::BeaconBoard(accelerator::BeaconAccelerator& accelerator,
                         std::shared_ptr<nn::BeaconNetwork> network, double weight_step)
    : accelerator_(accelerator), network_(std::move(network)), weight_step_(weight_step) {}

absl::Status BeaconBoard::SetLayer(std::size_t layer, std::span<const serial::Word> weights) {
  ASSIGN_OR_RETURN(accelerator::BeaconAccelerator::Weights all, accelerator_.weights());
  double* const first = all.data() + (layer == 1 ? 0 : nn::BeaconNetwork::kLayer1);
  std::ranges::transform(weights, first, [](serial::Word word) { return word / serial::kWeightScale; });
  RETURN_IF_ERROR(accelerator_.SetWeights(all));
  network_->parameters = all;
  return absl::OkStatus();
}

absl::Status BeaconBoard::Compute(std::span<const serial::Inputs> inputs,
                                  std::span<serial::Outputs> outputs) {
  features_.clear();
  for (const serial::Inputs& each : inputs) {
    nn::BeaconInputs normalised;
    std::ranges::transform(each, normalised.begin(), serial::ValueOf);
    for (const double range_m : nn::RangesOf(*network_, normalised))
      features_.push_back(static_cast<float>(range_m));
  }
  positions_.resize(inputs.size() * nn::BeaconNetwork::kOutputs);
  RETURN_IF_ERROR(accelerator_.Infer(features_, inputs.size(), positions_));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t o = 0; o < nn::BeaconNetwork::kOutputs; ++o) {
      const double position_m = positions_[i * nn::BeaconNetwork::kOutputs + o];
      outputs[i][o] = WordOf((position_m - network_->output_centre_m[o]) / network_->output_scale_m);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<serial::Retraining> BeaconBoard::Retrain(std::span<const serial::Sample> samples) {
  std::vector<nn::BeaconPattern> patterns(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::ranges::transform(samples[i].inputs, patterns[i].inputs.begin(), serial::ValueOf);
    std::ranges::transform(samples[i].targets, patterns[i].targets.begin(), serial::ValueOf);
  }
  ASSIGN_OR_RETURN(network_->parameters, accelerator_.weights());
  ASSIGN_OR_RETURN(nn::BeaconRetraining done,
                   nn::RetrainBeacon(*network_, patterns, {.weight_step = weight_step_}));
  if (done.taken) {
    RETURN_IF_ERROR(accelerator_.SetWeights(done.network.parameters));
    *network_ = std::move(done.network);
  }
  return serial::Retraining{.epochs = done.epochs,
                            .error_before = done.error_before,
                            .error_after = done.error_after,
                            .taken = done.taken};
}

}  // namespace tributary::workload
