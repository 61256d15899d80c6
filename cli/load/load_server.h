// The aggregator under load: started for the occasion, or found running; and its metrics.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// Sample name with labels, as in the text format, to value.
using MetricSamples = std::map<std::string, double>;

// GET /metrics from "host:port". Errors: Unavailable.
absl::StatusOr<MetricSamples> ReadMetrics(const std::string& http_address);

// A tributary-aggregator of its own: on free loopback ports, with a temporary configuration, beside this
// executable. Stopped when it goes.
class LoadServer {
 public:
  struct Site {
    std::string name;
    std::uint32_t panels = 4;  // sources "panel-0" …
    std::uint32_t users = 16;
    double deadline_ms = 50;
    estimate::SlotLength slot;
  };

  // Waits until it is ready, at most ten seconds. Errors: NotFound (the executable), Unavailable.
  static absl::StatusOr<std::unique_ptr<LoadServer>> Start(const Site& site);
  ~LoadServer();

  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }

 private:
  LoadServer() = default;
  int pid_ = -1;
  std::string config_path_;
  std::string address_;
  std::string http_address_;
};

}  // namespace tributary::cli
