// The counts of a site's engine, as metrics.
#pragma once

#include <cstddef>

#include "aggregator/fusion/engine.h"
#include "core/runtime/metrics.h"

namespace tributary::publish {

// The metrics read the engine's counts when they are scraped. Both outlive the last reading. Returns the
// histogram of the time from the capture of a slot's earliest contribution to its fusion, in seconds.
runtime::Histogram& AddSiteMetrics(const fusion::FusionEngine& engine, runtime::Metrics& metrics);

// Adds sources that reported for the first time: call before each reading of the metrics. One thread's.
class SourceMetrics {
 public:
  SourceMetrics(const fusion::FusionEngine& engine, runtime::Metrics& metrics)
      : engine_(engine), metrics_(metrics) {}
  void Refresh();

 private:
  const fusion::FusionEngine& engine_;
  runtime::Metrics& metrics_;
  std::size_t known_ = 0;
};

}  // namespace tributary::publish
