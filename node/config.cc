#include "node/config.h"

#include <fmt/format.h>

#include <set>

#include "core/runtime/config.h"
#include "fpga/model/fusion_model.h"

namespace tributary {
namespace {

// The hello of the Report stream carries so many sources at most.
constexpr std::size_t kMaxPanels = 256;
// Two of the longest slots.
constexpr double kMaxDeadlineMs = 2 * SlotLength::kLongestMs;

void CheckReach(const ConfigSection& section, std::string_view key, const std::string& address,
                bool allowed) {
  if (allowed || address.empty() || IsLoopback(address)) return;
  section.Fault(key,
                fmt::format("\"{}\" is not on the loopback: give certificate, key and ca in [tls], or say "
                            "insecure = true in [uplink]",
                            address));
}

std::optional<FusionConfig> ReadFusion(const ConfigSection& root, const NodeConfig& config) {
  if (!root.Has("fusion")) return std::nullopt;
  const ConfigSection section = root.Section("fusion");
  FusionConfig fusion;
  fusion.name = section.Text("name", config.node);
  fusion.accelerator = ReadAccelerator(section);
  fusion.deadline_ms = section.Real("deadline_ms", 1e-6 * static_cast<double>(DefaultDeadlineNs(config.slot)),
                                    {0.1, kMaxDeadlineMs});
  if (config.panels.size() < 2 || config.panels.size() > kFusionPanels) {
    root.Fault("fusion", fmt::format("fuses 2 to {} panels, found {}", kFusionPanels, config.panels.size()));
  }
  return fusion;
}

NodeConfig ReadRoot(const ConfigSection& root) {
  NodeConfig config;
  config.node = root.RequiredText("node");
  const bool learns = root.Has("federation");
  config.site = learns && !root.Has("panel") ? root.Text("site", "") : root.RequiredText("site");
  const double slot_ms =
      root.Real("slot_ms", config.slot.ms(), {SlotLength::kShortestMs, SlotLength::kLongestMs});
  config.slot = SlotLength::FromMs(slot_ms).value_or(SlotLength());
  config.log_level = root.Choice("log_level", "info", {"debug", "info", "warn", "error"});
  config.tls = ReadTlsFiles(root.Section("tls"));

  const ConfigSection uplink = root.Section("uplink");
  config.aggregator = uplink.Text("aggregator", "127.0.0.1:7400");
  const bool insecure = uplink.Boolean("insecure", false);
  CheckReach(uplink, "aggregator", config.aggregator, insecure || config.tls.has_value());
  config.spool.frames = static_cast<std::size_t>(uplink.Integer("spool_frames", 16384, {1, 1 << 24}));
  config.spool.bytes = static_cast<std::size_t>(uplink.Integer("spool_bytes", 16 << 20, {4096, 1LL << 40}));
  config.frames_per_message = static_cast<std::size_t>(uplink.Integer("frames_per_message", 1, {1, 256}));
  config.drain_s = uplink.Real("drain_s", 5, {0, 3600});

  const ConfigSection http = root.Section("http");
  config.http_listen = http.Text("listen", "127.0.0.1:0");
  // The HTTP side has no TLS of its own.
  CheckReach(http, "listen", config.http_listen, insecure);

  std::set<std::string> names;
  for (const ConfigSection& section : root.List("panel")) {
    config.panels.push_back(ReadPanel(section, config.slot));
    const std::string& name = config.panels.back().name;
    if (!names.insert(name).second)
      section.Fault("name", fmt::format("\"{}\" is the name of two panels", name));
  }
  if (learns) {
    const ConfigSection federation = root.Section("federation");
    config.federation = ReadFederation(federation, config.aggregator);
    CheckReach(federation, "aggregator", config.federation->aggregator, insecure || config.tls.has_value());
  }
  if ((config.panels.empty() && !learns) || config.panels.size() > kMaxPanels) {
    root.Fault("panel",
               fmt::format("expected 1 to {} [[panel]] tables, found {}", kMaxPanels, config.panels.size()));
  }
  config.fusion = ReadFusion(root, config);
  return config;
}

absl::StatusOr<NodeConfig> Read(const ConfigFile& file) {
  NodeConfig config = ReadRoot(file.Root());
  if (absl::Status status = file.Finish(); !status.ok()) return status;
  return config;
}

}  // namespace

absl::StatusOr<NodeConfig> ReadNodeConfig(const std::string& path) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Read(path);
  if (!file.ok()) return file.status();
  return Read(*file);
}

absl::StatusOr<NodeConfig> ParseNodeConfig(std::string_view text, const std::string& path) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, path);
  if (!file.ok()) return file.status();
  return Read(*file);
}

}  // namespace tributary
