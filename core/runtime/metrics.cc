#include "core/runtime/metrics.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

namespace tributary::runtime {

class Metrics::Callbacks {
 public:
  void Add(const std::string& name, const std::string& help, prometheus::MetricType type,
           const MetricLabels& labels, std::function<double()> read) {
    const MutexLock lock(mutex_);
    Family& family = families_[name];
    family.help = help;
    family.type = type;
    family.series.push_back({labels, std::move(read)});
  }

  void AppendTo(std::vector<prometheus::MetricFamily>& families) const {
    const MutexLock lock(mutex_);
    for (const auto& [name, family] : families_) {
      prometheus::MetricFamily out;
      out.name = name;
      out.help = family.help;
      out.type = family.type;
      for (const Series& series : family.series) {
        prometheus::ClientMetric metric;
        for (const auto& [label, value] : series.labels) metric.label.push_back({label, value});
        const double value = series.read();
        metric.counter.value = value;
        metric.gauge.value = value;
        out.metric.push_back(std::move(metric));
      }
      families.push_back(std::move(out));
    }
  }

 private:
  struct Series {
    MetricLabels labels;
    std::function<double()> read;
  };
  struct Family {
    std::string help;
    prometheus::MetricType type = prometheus::MetricType::Untyped;
    std::vector<Series> series;
  };
  mutable Mutex mutex_;
  std::map<std::string, Family> families_ GUARDED_BY(mutex_);
};

namespace {

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

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

Metrics::Metrics() : callbacks_(std::make_unique<Callbacks>()) {}
Metrics::~Metrics() = default;

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

void Metrics::AddCounterCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                                 std::function<double()> read) {
  callbacks_->Add(name, help, prometheus::MetricType::Counter, labels, std::move(read));
}

void Metrics::AddGaugeCallback(const std::string& name, const std::string& help, const MetricLabels& labels,
                               std::function<double()> read) {
  callbacks_->Add(name, help, prometheus::MetricType::Gauge, labels, std::move(read));
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
  callbacks_->AppendTo(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tributary::runtime
