#include "aggregator/fusion/categorical_subject.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aggregator/fusion/consistency_monitor.h"
#include "core/estimate/categorical.h"
#include "core/estimate/log_linear_pool.h"
#include "core/estimate/surprise.h"

namespace tributary::fusion {
namespace {

using CategoricalGroup = Group<std::span<const float>>;

// The evidence of a group: the log-linear pool of its contributions.
struct Pool {
  std::vector<double> weights;   // of the contributions; their sum is 1
  std::vector<double> evidence;  // [classes]
};

Pool PoolOf(const CategoricalGroup& group, std::span<const double> log_prior) {
  Pool pool{.weights = {}, .evidence = std::vector<double>(log_prior.size())};
  for (const CategoricalContribution* each : group) {
    pool.weights.push_back(estimate::InformationOf<float>(each->tuple, log_prior));
  }
  estimate::WeighByInformation(pool.weights);
  for (std::size_t i = 0; i < group.size(); ++i) {
    estimate::AddEvidence<float>(group[i]->tuple, pool.weights[i], pool.evidence);
  }
  return pool;
}

// The prior and the pool of the others in the group.
void PoolWithout(std::size_t one, const CategoricalGroup& group, const Pool& pool,
                 std::span<const double> log_prior, std::span<double> others) {
  const double rest = 1 - pool.weights[one];
  std::ranges::copy(log_prior, others.begin());
  if (!(rest > 1e-9)) return;  // the others know nothing
  for (std::size_t c = 0; c < others.size(); ++c) {
    others[c] += (pool.evidence[c] - pool.weights[one] * double{group[one]->tuple[c]}) / rest;
  }
}

// Multiplies the groups and measures the surprises.
ClassEstimate FuseGroups(std::span<const CategoricalGroup> groups, std::span<const double> log_prior,
                         std::span<double> fused) {
  std::vector<Pool> pools;
  std::ranges::copy(log_prior, fused.begin());
  for (const CategoricalGroup& group : groups) {
    pools.push_back(PoolOf(group, log_prior));
    estimate::AddEvidence<double>(pools.back().evidence, 1, fused);
  }
  ClassEstimate estimate;
  std::vector<double> others(log_prior.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      CategoricalContribution& contribution = *groups[g][i];
      estimate.leaves |= contribution.leaves;
      contribution.innovation.reset();
      if (groups.size() > 1) {
        for (std::size_t c = 0; c < others.size(); ++c) others[c] = fused[c] - pools[g].evidence[c];
      } else if (groups[g].size() > 1) {
        // No other is independent. Those that agree because they are correlated only make the surprise less.
        PoolWithout(i, groups[g], pools[g], log_prior, others);
      } else {
        continue;
      }
      contribution.innovation = estimate::LogSurprise(contribution.tuple, log_prior, others);
      estimate.surprise_sum += std::min(std::exp(*contribution.innovation), ConsistencyMonitor::kLargest);
      ++estimate.judged;
    }
  }
  estimate::Normalise(fused);
  return estimate;
}

}  // namespace

ClassEstimate FuseClasses(std::span<CategoricalContribution> contributions, std::span<const double> log_prior,
                          FusionMethod method, std::optional<double> gate,
                          std::span<double> log_probabilities) {
  return *FuseContributions(contributions, method, gate, [&](std::span<const CategoricalGroup> groups) {
    return std::optional(FuseGroups(groups, log_prior, log_probabilities));
  });
}

}  // namespace tributary::fusion
