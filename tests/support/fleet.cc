#include "tests/support/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tributary::testing {

AggregatorProcess::AggregatorProcess(const ScratchFolder& folder, std::string name,
                                     const std::vector<std::string>& leaves, const std::string& extra,
                                     const std::string& site_extra)
    : folder_(folder), name_(std::move(name)) {
  config_path_ = folder.Write(
      name_ + ".toml", fmt::format(R"(listen = "127.0.0.1:{}"
[http]
listen = "127.0.0.1:{}"
{}
[[site]]
name = "room"
sources = ["{}"]
deadline_ms = 50.0
{}
)",
                                   ingest_port_, http_port_, extra, fmt::join(leaves, "\", \""), site_extra));
}

void AggregatorProcess::Start(const std::vector<std::string>& launcher) {
  std::vector<std::string> command = launcher;
  command.insert(command.end(), {TRIBUTARY_BIN_DIR "/tributary-aggregator", "--config", config_path_});
  process_ = std::make_unique<Process>("/usr/bin/env", command, folder_.Path(name_ + ".log"));
}

bool AggregatorProcess::Ready() const {
  return WaitFor([this] { return !HttpGet(http_port_, "/readyz").empty(); });
}

NodeProcess::NodeProcess(const ScratchFolder& folder, const std::string& wall, int aggregator_port,
                         const std::string& extra, const PanelSettings& panel)
    : summary_path_(folder.Path(wall + ".json")) {
  const auto index = std::find(kWalls.begin(), kWalls.end(), wall) - kWalls.begin();
  const std::string config =
      folder.Write(fmt::format("{}.{}.toml", wall, aggregator_port),
                   fmt::format(R"(node = "{0}"
site = "room"
[uplink]
aggregator = "127.0.0.1:{1}"
{8}
[http]
listen = "127.0.0.1:{2}"
{3}
[[panel]]
name = "{0}"
workload = "positioning"
model = "{4}/models/positioning.safetensors"
orientation_deg = {5}.0
{6}
[panel.source]
kind = "room"
seed = 1
subjects = 4
rate_hz = {7:.3f}
)",
                               wall, aggregator_port, http_port_, extra, TRIBUTARY_SOURCE_DIR, index * 90,
                               panel.keys, panel.rate_hz, panel.uplink));
  process_ = std::make_unique<Process>(
      "tributary-node", std::vector<std::string>{"--config", config, "--summary", summary_path_},
      folder.Path(wall + ".log"));
}

}  // namespace tributary::testing
