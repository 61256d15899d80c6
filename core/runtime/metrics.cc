#include "core/runtime/metrics.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "core/runtime/memory_limit.h"

namespace tributary::runtime {
namespace {

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double OpenFiles() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

Counter& Metrics::AddCounter(const std::string& name, const std::string& help, const MetricLabels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels);
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& bounds, const MetricLabels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels, bounds);
}

prometheus::ClientMetric& Reading::Add(prometheus::MetricType type, const std::string& name,
                                       const std::string& help, const MetricLabels& labels) {
  prometheus::MetricFamily& family = families_[name];
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  return metric;
}

void Metrics::AddCollector(std::function<void(Reading&)> collect) {
  const MutexLock lock(mutex_);
  collectors_.push_back(std::move(collect));
}

void Metrics::AddCounterCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                                 std::function<double()> read) {
  AddCollector([=, read = std::move(read)](Reading& to) { to.Counter(name, help, labels, read()); });
}

void Metrics::AddGaugeCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                               std::function<double()> read) {
  AddCollector([=, read = std::move(read)](Reading& to) { to.Gauge(name, help, labels, read()); });
}

void Metrics::AddProcessMetrics() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  AddCollector([start_s = std::chrono::duration<double>(since).count()](Reading& to) {
    to.Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", {}, ResidentBytes());
    to.Counter("process_cpu_seconds_total", "Total user and system CPU time in seconds.", {}, CpuSeconds());
    to.Gauge("process_open_fds", "Number of open file descriptors.", {}, OpenFiles());
    to.Gauge("process_start_time_seconds", "Start time of the process since the Unix epoch in seconds.", {},
             start_s);
  });
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  Reading reading;
  {
    const MutexLock lock(mutex_);
    for (const auto& collect : collectors_) collect(reading);
  }
  for (auto& [name, family] : reading.families_) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tributary::runtime
