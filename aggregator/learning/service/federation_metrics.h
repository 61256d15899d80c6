// The runs as metrics.
#pragma once

#include "aggregator/learning/service/coordinator.h"
#include "core/runtime/metrics.h"

namespace tributary {

// Counters of refusals by reason and of bytes; whether the store works. The coordinator outlives the metrics'
// readers.
void AddFederationMetrics(const Coordinator& coordinator, Metrics& metrics);

// Gauges of each run, refreshed when the metrics are read. One thread at a time.
class RunMetrics {
 public:
  // Both outlive this object.
  RunMetrics(const RunBoard& board, Metrics& metrics) : board_(board), metrics_(metrics) {}

  void Refresh();

 private:
  void Set(const char* name, const char* help, const std::string& run, double value);
  void SetJudgement(const std::string& run, const Judgement& judgement);

  const RunBoard& board_;
  Metrics& metrics_;
};

}  // namespace tributary
