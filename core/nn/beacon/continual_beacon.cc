#include "core/nn/beacon/continual_beacon.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tributary::nn {
namespace {

// A passage may be a little worse than expected; one alone, or a label that is wrong, is no drift.
constexpr double kSlack = 1.25;
constexpr double kMostInPassage = 8;
constexpr double kAlarm = 7;

// The last label counts by this share; one that is wrong counts as a limited error.
constexpr double kLatelyShare = 0.2;
constexpr double kMostOfSample = 100;

// A label whose error is larger by far than those of most, even of a network that does not fit, is wrong.
constexpr double kMostTimesMedian = 20;

constexpr std::size_t kFirstTraining = 8;
constexpr double kPriorPassages = 32;
constexpr std::size_t kFolds = 4;

// The largest input that the words of an integer board hold: Q1.10.
constexpr double kLargestWord = 1 - 1.0 / 1024;

bool IsWithin(double value, double low, double high) { return value >= low && value <= high; }

}  // namespace

ContinualBeacon::ContinualBeacon(BeaconNetwork network, double weight_step)
    : weight_step_(weight_step),
      origin_(network),
      network_(std::move(network)),
      next_training_(kFirstTraining) {}

double ContinualBeacon::deviation_scale() const {
  const double since = drifted_ && count_ > 0 ? sum_ / static_cast<double>(count_) : 1;
  return std::sqrt(std::max({1.0, lately_, since}));
}

void ContinualBeacon::Keep(const BeaconExample& sample) {
  if (passage_->samples > kPassageSamples || kept_.size() == kMostSamples) return;
  BeaconPattern pattern{.inputs = NormaliseRanges(network_, sample.ranges_m)};
  if (weight_step_ > 0) {
    for (double& input : pattern.inputs) input = std::clamp(input, -1.0, kLargestWord);
  }
  for (std::size_t o = 0; o < pattern.targets.size(); ++o) {
    pattern.targets[o] = (sample.position_m[o] - network_.output_centre_m[o]) / network_.output_scale_m;
  }
  kept_.push_back(pattern);
}

absl::StatusOr<ContinualBeacon::Verdict> ContinualBeacon::Take(const BeaconExample& sample) {
  const bool usable =
      std::ranges::all_of(sample.ranges_m, [](double v) { return IsWithin(v, 0, kMostRangeM); }) &&
      std::ranges::all_of(sample.position_m,
                          [](double v) { return IsWithin(v, -kMostCoordinateM, kMostCoordinateM); });
  if (!usable) return absl::InvalidArgumentError("a range or a position is none of a hall");

  const bool was_drifted = drifted_;
  if (passage_ && sample.unix_ns - passage_->begin_ns >= kPassageNs) EndPassage();
  if (!passage_) passage_ = {.begin_ns = sample.unix_ns};
  const double squared = BeaconSquaredError(network_, sample.ranges_m, sample.position_m);
  const double consistency = squared < 2 * kMostOfSample ? squared / 2 : kMostOfSample;
  ++passage_->samples;
  passage_->consistency_sum += std::min(consistency, kMostInPassage);
  lately_ += kLatelyShare * (consistency - lately_);
  sum_ += consistency;
  ++count_;
  Keep(sample);
  return Verdict{
      .consistency = consistency,
      .drift_began = drifted_ && !was_drifted,
      .training_due = drifted_ && kept_passages_ >= next_training_ && kept_.size() >= kLeastPatterns};
}

void ContinualBeacon::EndPassage() {
  const double mean = passage_->consistency_sum / static_cast<double>(passage_->samples);
  passage_.reset();
  ++kept_passages_;
  if (drifted_) return;
  cumulative_ = std::max(0.0, cumulative_ + mean - kSlack);
  drifted_ = cumulative_ > kAlarm;
  if (cumulative_ == 0) Settle();
}

// Nothing of what came so far is due to a drift.
void ContinualBeacon::Settle() {
  kept_.clear();
  kept_passages_ = 0;
  cumulative_ = 0;
  sum_ = 0;
  count_ = 0;
}

std::vector<BeaconPattern> ContinualBeacon::Usable() const {
  std::vector<double> errors(kept_.size());
  std::ranges::transform(kept_, errors.begin(), [&](const BeaconPattern& each) {
    const BeaconOutputs outputs = BeaconForward(origin_.parameters, each.inputs);
    return std::hypot(outputs[0] - each.targets[0], outputs[1] - each.targets[1]);
  });
  std::vector<double> ordered = errors;
  const auto middle = ordered.begin() + static_cast<std::ptrdiff_t>(ordered.size() / 2);
  std::ranges::nth_element(ordered, middle);
  std::vector<BeaconPattern> usable;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (errors[i] <= kMostTimesMedian * *middle) usable.push_back(kept_[i]);
  }
  return usable;
}

absl::StatusOr<BeaconRetraining> ContinualBeacon::Train(const std::function<bool()>& withdrawn) {
  const double passages = static_cast<double>(std::max<std::size_t>(1, kept_passages_));
  const double prior_samples = kPriorPassages * static_cast<double>(kept_.size()) / passages;
  const BeaconRetrainingOptions options{.weight_step = weight_step_,
                                        .prior = &origin_,
                                        .prior_samples = prior_samples,
                                        .calibration_folds = kFolds,
                                        .withdrawn = withdrawn};
  absl::StatusOr<BeaconRetraining> done = RetrainBeacon(network_, Usable(), options);
  next_training_ = kept_passages_ + std::max<std::size_t>(1, kept_passages_ / 2);
  if (kept_passages_ < kMostPassages) next_training_ = std::min(next_training_, kMostPassages);
  if (done.ok() && done->taken) {
    network_ = done->network;
    lately_ = 1;
    sum_ = 0;
    count_ = 0;
  }
  if (kept_passages_ >= kMostPassages) {
    origin_ = network_;
    drifted_ = false;
    next_training_ = kFirstTraining;
    Settle();
  }
  return done;
}

}  // namespace tributary::nn
