// The process's metrics, in Prometheus' data model. Resolve handles once, at start, and keep them.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/runtime/mutex.h"

namespace tributary::runtime {

using MetricLabels = std::map<std::string, std::string>;
using prometheus::Counter;
using prometheus::Histogram;

// What one reading of the metrics finds, beside the handles.
class Reading {
 public:
  template <typename Number>
  void Counter(const std::string& name, const std::string& help, const MetricLabels& labels,
               const Number& value) {
    Add(prometheus::MetricType::Counter, name, help, labels).counter.value = static_cast<double>(value);
  }
  template <typename Number>
  void Gauge(const std::string& name, const std::string& help, const MetricLabels& labels,
             const Number& value) {
    Add(prometheus::MetricType::Gauge, name, help, labels).gauge.value = static_cast<double>(value);
  }
  // A counter for each reason from `first` on, in the order of the enumeration.
  template <typename Reason, typename Text>
  void Reasons(const std::string& name, const std::string& help, MetricLabels labels, const auto& counts,
               Text (*name_of)(Reason), std::size_t first = 0) {
    for (std::size_t i = first; i < std::size(counts); ++i) {
      labels["reason"] = name_of(static_cast<Reason>(i));
      Counter(name, help, labels, counts[i]);
    }
  }

 private:
  friend class Metrics;
  prometheus::ClientMetric& Add(prometheus::MetricType type, const std::string& name, const std::string& help,
                                const MetricLabels& labels);

  std::map<std::string, prometheus::MetricFamily> families_;
};

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
  Histogram& AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                          const MetricLabels& labels = {});

  // Called when metrics are scraped, on the reader's thread: for what a class counts anyway.
  void AddCollector(std::function<void(Reading&)> collect);
  // A collector of one value.
  void AddCounterCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                          std::function<double()> read);
  void AddGaugeCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                        std::function<double()> read);

  // The same for several counts; `read` gives them all.
  template <typename Counts, std::size_t N>
  void AddCounts(const MetricLabels& labels, const std::function<Counts()>& read,
                 const CountMetric<Counts> (&metrics)[N]) {
    AddCollector([labels, read, metrics = std::to_array(metrics)](Reading& reading) {
      const Counts counts = read();
      for (const auto& each : metrics) reading.Counter(each.name, each.help, labels, counts.*each.count);
    });
  }

  // Resident memory, CPU seconds, open files and start time, under Prometheus' standard process_* names.
  void AddProcessMetrics();

  // All metrics, in the text exposition format (version 0.0.4).
  std::string Text() const;

 private:
  prometheus::Registry registry_;
  mutable Mutex mutex_;
  std::vector<std::function<void(Reading&)>> collectors_ GUARDED_BY(mutex_);
};

}  // namespace tributary::runtime
