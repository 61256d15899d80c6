#include "aggregator/learning/rules/strategy.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "aggregator/learning/rules/robust.h"
#include "aggregator/learning/rules/server_step.h"
#include "core/parameters/fixed_point.h"

namespace tributary::learning {
namespace {

std::unique_ptr<Strategy> Make(const StrategyOptions& options, std::size_t element_count) {
  switch (options.kind) {
    case StrategyKind::kFedAvg:
    case StrategyKind::kFedProx:
    case StrategyKind::kFedEma:
    case StrategyKind::kFedBuff:
      return MakePlainStep(options, element_count);
    case StrategyKind::kFedAvgM:
      return MakeMomentumStep(options, element_count);
    case StrategyKind::kFedAdam:
    case StrategyKind::kFedYogi:
      return MakeAdaptiveStep(options, element_count);
    case StrategyKind::kMedian:
      return MakeMedian(options, element_count);
    case StrategyKind::kTrimmedMean:
      return MakeTrimmedMean(options, element_count);
    case StrategyKind::kMultiKrum:
      return MakeMultiKrum(options, element_count);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Strategy>> Strategy::Create(
    const StrategyOptions& options, std::size_t element_count,
    std::vector<parameters::StatisticRange> statistics) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  std::unique_ptr<Strategy> strategy = Make(options, element_count);
  if (strategy == nullptr) return absl::InvalidArgumentError("unknown strategy");
  strategy->statistics_ = std::move(statistics);
  return strategy;
}

absl::Status Strategy::Combine(std::span<const NodeUpdate>, std::span<float>) const {
  return absl::UnimplementedError(
      fmt::format("{} combines by the weighted mean", StrategyName(options_.kind)));
}

absl::Status Strategy::Step(std::span<const float> combined, std::span<float> model) {
  if (combined.size() != element_count_ || model.size() != element_count_) {
    return absl::InvalidArgumentError(fmt::format("a delta of {} and a model of {} elements, expected {}",
                                                  combined.size(), model.size(), element_count_));
  }
  std::size_t next = 0;
  for (const parameters::StatisticRange& range : statistics_) {
    Apply(next, combined.subspan(next, range.first - next), model.subspan(next, range.first - next));
    next = range.first + range.count;
    for (std::size_t i = range.first; i < next; ++i) {
      model[i] += combined[i];
      // The mean of variances is none below zero, but noise on it may be. NaN stays, to be found below.
      if (range.variance && model[i] < 0) model[i] = 0;
    }
  }
  Apply(next, combined.subspan(next), model.subspan(next));
  if (parameters::CheckRange(model, std::numeric_limits<float>::max()) != parameters::RangeCheck::kGood) {
    return absl::DataLossError("the round would leave the model with a parameter that is not finite");
  }
  return absl::OkStatus();
}

}  // namespace tributary::learning
