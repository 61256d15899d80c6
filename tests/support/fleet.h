// A small language for tests with daemons: an aggregator, nodes with one simulated panel each, and their
// output.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace tributary::testing {

inline const std::vector<std::string> kWalls = {"south", "east", "north", "west"};

// One aggregator process with fixed ports, so that it can be killed and started again.
class AggregatorProcess {
 public:
  // `extra` is appended to its configuration: [parent] or [tls] tables.
  AggregatorProcess(const ScratchFolder& folder, std::string name, const std::vector<std::string>& leaves,
                    const std::string& extra = "", const std::string& site_extra = "");

  // `launcher`: a command prefix such as nsenter.
  void Start(const std::vector<std::string>& launcher = {});
  // Waits until it serves; false after 20 s.
  bool Ready() const;
  Process& process() { return *process_; }
  std::string Metrics() const { return HttpGet(http_port_, "/metrics"); }
  std::string Get(const std::string& target) const { return HttpGet(http_port_, target); }
  int http_port() const { return http_port_; }
  int ingest_port() const { return ingest_port_; }

 private:
  const ScratchFolder& folder_;
  std::string name_;
  std::string config_path_;
  int ingest_port_ = ReservePort();
  int http_port_ = ReservePort();
  std::unique_ptr<Process> process_;
};

// Differences from a panel on the processor at 200 slots/s.
struct PanelSettings {
  std::string keys{};  // lines of [[panel]]
  double rate_hz = 200;
  std::string uplink{};  // lines of [uplink]
};

// A node that reports the panel on one wall of the simulated room, 4 subjects.
class NodeProcess {
 public:
  NodeProcess(const ScratchFolder& folder, const std::string& wall, int aggregator_port,
              const std::string& extra = "", const PanelSettings& panel = {});

  Process& process() { return *process_; }
  std::string Metrics() const { return HttpGet(http_port_, "/metrics"); }
  const std::string& summary_path() const { return summary_path_; }

 private:
  int http_port_ = ReservePort();
  std::string summary_path_;
  std::unique_ptr<Process> process_;
};

}  // namespace tributary::testing
