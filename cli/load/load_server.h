// The aggregator under load: started for the occasion, or found running; and its metrics.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/load/load_client.h"

namespace tributary::cli {

// Sample name with labels, as in the text format, to value.
using MetricSamples = std::map<std::string, double>;

// GET /metrics from "host:port". Errors: Unavailable, at the latest after two seconds.
absl::StatusOr<MetricSamples> ReadMetrics(const std::string& http_address);

// A tributary-aggregator of its own: on free loopback ports, with a temporary configuration, beside this
// executable. Stopped when it goes.
class LoadServer {
 public:
  // Has the plan's site. Waits until it is ready, at most ten seconds. Errors: NotFound (the executable),
  // Unavailable.
  static absl::StatusOr<std::unique_ptr<LoadServer>> Start(const LoadPlan& plan, double deadline_ms);
  ~LoadServer();

  const std::string address;
  const std::string http_address;

 private:
  LoadServer();
  int pid_ = -1;
  std::string config_path_;
};

}  // namespace tributary::cli
