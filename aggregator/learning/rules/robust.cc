// Combinations that a minority of hostile updates cannot steer.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "aggregator/learning/rules/strategy.h"
#include "core/parameters/fixed_point.h"

namespace tributary::learning {
namespace {

using Updates = std::vector<const NodeUpdate*>;  // ascending by name

// What all robust combinations share: the checks and the order.
class RobustStrategy : public Strategy {
 public:
  RobustStrategy(const StrategyOptions& options, std::size_t n) : Strategy(options, n) {}

  bool needs_every_update() const final { return true; }

  absl::Status Combine(std::span<const NodeUpdate> updates, std::span<float> combined) const final {
    if (updates.size() < min_updates()) {
      return absl::InvalidArgumentError(fmt::format("{} updates, {} needs at least {}", updates.size(),
                                                    StrategyName(options().kind), min_updates()));
    }
    if (combined.size() != element_count()) return absl::InvalidArgumentError("the delta has another size");
    Updates sorted;
    for (const NodeUpdate& update : updates) {
      if (update.delta.size() != element_count()) {
        return absl::InvalidArgumentError(fmt::format("the update of {} has {} elements, expected {}",
                                                      update.node, update.delta.size(), element_count()));
      }
      if (parameters::CheckRange(update.delta, std::numeric_limits<float>::max()) !=
          parameters::RangeCheck::kGood) {
        return absl::InvalidArgumentError(fmt::format("the update of {} is not finite", update.node));
      }
      sorted.push_back(&update);
    }
    std::ranges::sort(sorted, {}, &NodeUpdate::node);
    const auto twice = std::ranges::adjacent_find(sorted, {}, &NodeUpdate::node);
    if (twice != sorted.end()) {
      return absl::InvalidArgumentError(fmt::format("two updates of {}", (*twice)->node));
    }
    CombineSorted(sorted, combined);
    return absl::OkStatus();
  }

 private:
  virtual void CombineSorted(const Updates& updates, std::span<float> combined) const = 0;
};

// Calls `reduce` with the sorted values of each coordinate.
template <class Reduce>
void ForEachCoordinate(const Updates& updates, std::span<float> combined, Reduce reduce) {
  std::vector<float> column(updates.size());
  for (std::size_t i = 0; i < combined.size(); ++i) {
    for (std::size_t k = 0; k < updates.size(); ++k) column[k] = updates[k]->delta[i];
    std::ranges::sort(column);
    combined[i] = reduce(column);
  }
}

// Coordinate-wise median; of an even number the mean of the two in the middle.
class Median final : public RobustStrategy {
  using RobustStrategy::RobustStrategy;

  void CombineSorted(const Updates& updates, std::span<float> combined) const override {
    ForEachCoordinate(updates, combined, [](const std::vector<float>& column) {
      const std::size_t middle = column.size() / 2;
      if (column.size() % 2 == 1) return column[middle];
      return static_cast<float>((static_cast<double>(column[middle - 1]) + column[middle]) / 2);
    });
  }
};

// Coordinate-wise mean of what is left when ⌊trim · n⌋ values are left out at each end.
class TrimmedMean final : public RobustStrategy {
  using RobustStrategy::RobustStrategy;

  void CombineSorted(const Updates& updates, std::span<float> combined) const override {
    const auto trimmed = static_cast<std::ptrdiff_t>(options().trim * static_cast<double>(updates.size()));
    ForEachCoordinate(updates, combined, [trimmed](const std::vector<float>& column) {
      const auto first = column.begin() + trimmed;
      const auto last = column.end() - trimmed;
      return static_cast<float>(std::accumulate(first, last, 0.0) / static_cast<double>(last - first));
    });
  }
};

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(), [](float left, float right) {
    const double difference = static_cast<double>(left) - right;
    return difference * difference;
  });
}

// Mean of the `selected` updates whose n − byzantine − 2 nearest neighbours are nearest (sum of squared
// distances; of equal ones, the first by name). Takes n ≥ 2 · byzantine + 3 updates.
class MultiKrum final : public RobustStrategy {
 public:
  using RobustStrategy::RobustStrategy;
  std::size_t min_updates() const override { return 2 * options().byzantine + 3; }

 private:
  void CombineSorted(const Updates& updates, std::span<float> combined) const override {
    const std::size_t n = updates.size();
    const std::vector<double> scores = Scores(updates);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return scores[k]; });
    const std::size_t wanted = options().selected == 0 ? n - options().byzantine : options().selected;
    order.resize(std::min(wanted, n));
    std::ranges::sort(order);
    for (std::size_t i = 0; i < combined.size(); ++i) {
      double sum = 0;
      for (const std::size_t k : order) sum += updates[k]->delta[i];
      combined[i] = static_cast<float>(sum / static_cast<double>(order.size()));
    }
  }

  std::vector<double> Scores(const Updates& updates) const {
    const std::size_t n = updates.size();
    std::vector<std::vector<double>> distances(n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        const double distance = SquaredDistance(updates[a]->delta, updates[b]->delta);
        distances[a].push_back(distance);
        distances[b].push_back(distance);
      }
    }
    std::vector<double> scores;
    for (std::vector<double>& row : distances) {
      std::ranges::sort(row);
      const auto neighbours = static_cast<std::ptrdiff_t>(n - options().byzantine - 2);
      scores.push_back(std::accumulate(row.begin(), row.begin() + neighbours, 0.0));
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeRobust(const StrategyOptions& options, std::size_t element_count) {
  switch (options.kind) {
    case StrategyKind::kMedian:
      return std::make_unique<Median>(options, element_count);
    case StrategyKind::kTrimmedMean:
      return std::make_unique<TrimmedMean>(options, element_count);
    case StrategyKind::kMultiKrum:
      return std::make_unique<MultiKrum>(options, element_count);
    default:
      return nullptr;
  }
}

}  // namespace tributary::learning
