#include "core/runtime/metrics.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

namespace tributary::runtime {
namespace {

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

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

Gauge& Metrics::AddGauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels);
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& bounds, const MetricLabels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels, bounds);
}

void Metrics::AddCallback(const std::string& name, const std::string& help, prometheus::MetricType type,
                          const MetricLabels& labels, std::function<double()> read) {
  const MutexLock lock(mutex_);
  auto& [family, reads] = callbacks_[name];
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  reads.push_back(std::move(read));
}

void Metrics::AddCounterCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                                 std::function<double()> read) {
  AddCallback(name, help, prometheus::MetricType::Counter, labels, std::move(read));
}

void Metrics::AddGaugeCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                               std::function<double()> read) {
  AddCallback(name, help, prometheus::MetricType::Gauge, labels, std::move(read));
}

void Metrics::AddProcessMetrics() {
  AddGaugeCallback("process_resident_memory_bytes", "Resident memory size in bytes.", {}, ResidentBytes);
  AddCounterCallback("process_cpu_seconds_total", "Total user and system CPU time in seconds.", {},
                     CpuSeconds);
  AddGaugeCallback("process_open_fds", "Number of open file descriptors.", {}, OpenFiles);
  AddGauge("process_start_time_seconds", "Start time of the process since the Unix epoch in seconds.")
      .Set(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  const MutexLock lock(mutex_);
  for (const auto& [name, callbacks] : callbacks_) {
    prometheus::MetricFamily& family = families.emplace_back(callbacks.metrics);
    for (std::size_t i = 0; i < family.metric.size(); ++i) {
      const double value = callbacks.reads[i]();
      family.metric[i].counter.value = value;
      family.metric[i].gauge.value = value;
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tributary::runtime
