// The process's metrics, in Prometheus' data model. Resolve handles once, at start, and keep them.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/runtime/mutex.h"

namespace tributary::runtime {

using MetricLabels = std::map<std::string, std::string>;
using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

// A counter of Metrics::AddCounts.
template <typename Counts>
struct CountMetric {
  const char* name;
  const char* help;
  std::uint64_t Counts::*count;
};

// Thread-safe. Owns every metric; handles live as long as it does.
class Metrics {
 public:
  // The same name and labels give the same handle.
  Counter& AddCounter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram& AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                          const MetricLabels& labels = {});

  // A callback that reads the value when metrics are scraped, on the reader's thread: for counts that a class
  // keeps anyway.
  void AddCounterCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                          std::function<double()> read);
  void AddGaugeCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                        std::function<double()> read);

  // The same for several counts; `read` gives them all.
  template <typename Counts, std::size_t N>
  void AddCounts(const MetricLabels& labels, const std::function<Counts()>& read,
                 const CountMetric<Counts> (&metrics)[N]) {
    for (const CountMetric<Counts>& metric : metrics) {
      AddCounterCallback(metric.name, metric.help, labels,
                         [read, count = metric.count] { return static_cast<double>(read().*count); });
    }
  }

  // Resident memory, CPU seconds, open files and start time, under Prometheus' standard process_* names.
  void AddProcessMetrics();

  // All metrics, in the text exposition format (version 0.0.4).
  std::string Text() const;

 private:
  struct CallbackFamily {
    prometheus::MetricFamily metrics;  // their values as yet unread
    std::vector<std::function<double()>> reads;
  };
  void AddCallback(const std::string& name, const std::string& help, prometheus::MetricType type,
                   const MetricLabels& labels, std::function<double()> read);

  prometheus::Registry registry_;
  mutable Mutex mutex_;
  std::map<std::string, CallbackFamily> callbacks_ GUARDED_BY(mutex_);
};

}  // namespace tributary::runtime
