// The runs as metrics.
#pragma once

#include "aggregator/learning/service/coordinator.h"
#include "core/runtime/metrics.h"

namespace tributary::learning {

// Counters of refusals by reason and of bytes; whether the store works. The coordinator outlives the metrics'
// readers.
void AddFederationMetrics(const Coordinator& coordinator, runtime::Metrics& metrics);

// Gauges of each run, refreshed when the metrics are read. One thread at a time.
class RunMetrics {
 public:
  // Both outlive this object.
  RunMetrics(const RunBoard& board, runtime::Metrics& metrics) : board_(board), metrics_(metrics) {}

  void Refresh();

 private:
  void Set(const char* name, const char* help, const std::string& run, double value);
  void SetEvaluation(const std::string& run, const v1::Evaluation& evaluation);

  const RunBoard& board_;
  runtime::Metrics& metrics_;
};

}  // namespace tributary::learning
