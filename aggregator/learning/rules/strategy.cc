#include "aggregator/learning/rules/strategy.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/parameters/fixed_point.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// m ← momentum · m + delta, model += learning_rate · m.
class MomentumStep final : public Strategy {
 public:
  MomentumStep(const StrategyOptions& options, std::size_t n) : Strategy(options, n), momentum_(n) {}
  std::vector<std::span<float>> state() override { return {momentum_}; }

 private:
  absl::Status Apply(std::size_t first, std::span<const float> combined, double /*total_weight*/,
                     std::span<float> model) override {
    const auto rate = static_cast<float>(options().learning_rate);
    const auto decay = static_cast<float>(options().momentum);
    const std::span<float> momentum = std::span(momentum_).subspan(first, model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      momentum[i] = decay * momentum[i] + combined[i];
      model[i] += rate * momentum[i];
    }
    return absl::OkStatus();
  }

  std::vector<float> momentum_;
};

// FedAdam and FedYogi ([Reddi21], algorithm 2): m ← β1 m + (1 − β1) delta,
//   Adam v ← β2 v + (1 − β2) delta²,  Yogi v ← v − (1 − β2) delta² sign(v − delta²),
// model += learning_rate · m / (√v + τ). The second moment v is τ² at first.
class AdaptiveStep final : public Strategy {
 public:
  AdaptiveStep(const StrategyOptions& options, std::size_t n)
      : Strategy(options, n),
        momentum_(n),
        second_moment_(n, static_cast<float>(options.tau * options.tau)) {}
  std::vector<std::span<float>> state() override { return {momentum_, second_moment_}; }

 private:
  absl::Status Apply(std::size_t first, std::span<const float> combined, double /*total_weight*/,
                     std::span<float> model) override {
    const bool yogi = options().kind == StrategyKind::kFedYogi;
    const auto rate = static_cast<float>(options().learning_rate);
    const auto beta1 = static_cast<float>(options().beta1);
    const auto beta2 = static_cast<float>(options().beta2);
    const auto tau = static_cast<float>(options().tau);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const float square = combined[i] * combined[i];
      float& momentum = momentum_[first + i];
      float& second = second_moment_[first + i];
      momentum = beta1 * momentum + (1 - beta1) * combined[i];
      if (yogi) {
        // sign(0) = 0, which leaves the moment as it is.
        const float sign = static_cast<float>(second > square) - static_cast<float>(second < square);
        second -= (1 - beta2) * square * sign;
      } else {
        second = beta2 * second + (1 - beta2) * square;
      }
      model[i] += rate * momentum / (std::sqrt(second) + tau);
    }
    return absl::OkStatus();
  }

  std::vector<float> momentum_;
  std::vector<float> second_moment_;
};

}  // namespace

std::unique_ptr<Strategy> Strategy::Create(const StrategyOptions& options, std::size_t element_count,
                                           std::vector<parameters::StatisticRange> statistics) {
  std::unique_ptr<Strategy> strategy;
  switch (options.kind) {
    case StrategyKind::kFedAvg:
    case StrategyKind::kFedProx:
    case StrategyKind::kFedEma:
    case StrategyKind::kFedBuff:
      strategy.reset(new Strategy(options, element_count));
      break;
    case StrategyKind::kFedAvgM:
      strategy = std::make_unique<MomentumStep>(options, element_count);
      break;
    case StrategyKind::kFedAdam:
    case StrategyKind::kFedYogi:
      strategy = std::make_unique<AdaptiveStep>(options, element_count);
      break;
    case StrategyKind::kMedian:
    case StrategyKind::kTrimmedMean:
    case StrategyKind::kMultiKrum:
      strategy = MakeRobust(options, element_count);
      break;
    case StrategyKind::kLevenbergMarquardt:
      strategy = MakeSecondOrder(options, element_count);
      break;
  }
  strategy->statistics_ = std::move(statistics);
  return strategy;
}

absl::Status Strategy::Apply(std::size_t, std::span<const float> combined, double /*total_weight*/,
                             std::span<float> model) {
  const auto rate = static_cast<float>(options_.learning_rate);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] += rate * combined[i];
  return absl::OkStatus();
}

absl::Status Strategy::Combine(std::span<const NodeUpdate>, std::span<float>) const {
  return absl::UnimplementedError(
      fmt::format("{} combines by the weighted mean", StrategyName(options_.kind)));
}

absl::Status Strategy::Step(std::span<const float> combined, std::span<float> model, double total_weight) {
  if (combined.size() != element_count_ || model.size() != element_count_) {
    return absl::InvalidArgumentError(fmt::format("a delta of {} and a model of {} elements, expected {}",
                                                  combined.size(), model.size(), element_count_));
  }
  std::size_t next = 0;
  for (const parameters::StatisticRange& range : statistics_) {
    const std::size_t count = range.first - next;
    RETURN_IF_ERROR(Apply(next, combined.subspan(next, count), total_weight, model.subspan(next, count)));
    next = range.first + range.count;
    for (std::size_t i = range.first; i < next; ++i) {
      model[i] += combined[i];
      // The mean of variances is none below zero, but noise on it may be. NaN stays, to be found below.
      if (range.variance && model[i] < 0) model[i] = 0;
    }
  }
  RETURN_IF_ERROR(Apply(next, combined.subspan(next), total_weight, model.subspan(next)));
  if (parameters::CheckRange(model, std::numeric_limits<float>::max()) != parameters::RangeCheck::kGood) {
    return absl::DataLossError("the round would leave the model with a parameter that is not finite");
  }
  return absl::OkStatus();
}

}  // namespace tributary::learning
