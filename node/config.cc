#include "node/config.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/config/config.h"
#include "core/config/config_address.h"
#include "fpga/model/fusion_model.h"

namespace tributary::node {
namespace {

// The hello of the Report stream carries so many sources at most.
constexpr std::size_t kMaxPanels = 256;
// Two of the longest slots.
constexpr double kMaxDeadlineMs = 2 * estimate::SlotLength::kLongestMs;

// What several daemons on one machine need to differ in; the aggregator's is 7480.
constexpr std::string_view kDefaultHttp = "127.0.0.1:7481";

// Two sources cannot be bound to one port.
void CheckUdpPorts(const config::ConfigFile& file, const std::vector<panel::PanelConfig>& panels) {
  std::map<std::pair<std::string, std::uint16_t>, std::size_t> taken;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto* udp = std::get_if<source::UdpSourceOptions>(&panels[i].source);
    if (udp == nullptr || udp->port == 0) continue;
    const auto [first, added] = taken.try_emplace({udp->address, udp->port}, i);
    if (added) continue;
    file.Fault(fmt::format("panel[{}].source.port", i),
               fmt::format("{} is the port of panel \"{}\"", udp->port, panels[first->second].name));
  }
}

std::optional<FusionConfig> ReadFusion(const config::ConfigSection& root, const NodeConfig& config) {
  if (!root.Has("fusion")) return std::nullopt;
  const config::ConfigSection section = root.Section("fusion");
  FusionConfig fusion;
  fusion.name = config.node;
  section.Read("name", fusion.name, "of the source; default: the node's name");
  if (section.Has("name")) section.ReadName("name", fusion.name);
  fusion.accelerator = panel::ReadAccelerator(section);
  fusion.deadline_ms = 1e-6 * static_cast<double>(estimate::DefaultDeadlineNs(config.slot));
  section.Read("deadline_ms", fusion.deadline_ms, {0.1, kMaxDeadlineMs},
               "how long a slot waits for the slower panels");
  for (const panel::PanelConfig& panel : config.panels) {
    if (panel.workload != panel::WorkloadKind::kModulation) continue;
    root.Fault("fusion", fmt::format("fuses positions; panel \"{}\" gives classes", panel.name));
    break;
  }
  if (config.panels.size() < 2 || config.panels.size() > fpga::kFusionPanels) {
    root.Fault("fusion",
               fmt::format("fuses 2 to {} panels, found {}", fpga::kFusionPanels, config.panels.size()));
  }
  return fusion;
}

std::optional<link::DiskBacklogOptions> ReadDisk(const config::ConfigSection& uplink) {
  link::DiskBacklogOptions disk;
  uplink.ReadFile("spool_dir", disk.folder,
                  "folder for frames while the aggregator is away: they survive a restart and a power cut; "
                  "empty: memory only");
  uplink.Read("spool_dir_bytes", disk.budget_bytes, {1 << 18, 1LL << 50},
              "what the folder's frames may take on the disk; beyond it the oldest are dropped and counted");
  uplink.Read("resend_hz", disk.resend_hz, {1, 1e6},
              "frames/s that are sent from the folder beside the fresh ones");
  if (disk.folder.empty()) return std::nullopt;
  return disk;
}

RenewalSettings ReadRenewal(const config::ConfigSection& tls, bool files) {
  constexpr std::int64_t kDayS = 86'400;
  RenewalSettings renewal;
  tls.Read(
      "renew", renewal.on,
      "true: renew the certificate by itself; the aggregator needs authority in [access], and this process "
      "must be able to replace the file");
  std::int64_t days = renewal.before_s / kDayS;
  tls.Read("renew_before_days", days, {1, 365},
           "so many days before it expires, at most half of the time that it is valid");
  renewal.before_s = days * kDayS;
  if (renewal.on && !files) tls.Fault("renew", "needs certificate, key and ca");
  return renewal;
}

}  // namespace

const std::string& HomeOf(const NodeConfig& config) {
  return config.panels.empty() && config.federation ? config.federation->aggregator : config.aggregator;
}

NodeConfig ReadNodeConfig(const config::ConfigFile& file) {
  const config::ConfigSection root = file.Root();
  NodeConfig config;
  root.ReadName("node", config.node, "the name on its certificate if TLS is on");
  const bool learns = root.Has("federation");
  constexpr const char* kSiteHelp = "optional for a node that only learns";
  if (learns && !root.Has("panel")) {
    root.Read("site", config.site, kSiteHelp);
  } else {
    root.ReadName("site", config.site, kSiteHelp);
  }
  double slot_ms = config.slot.ms();
  root.Read("slot_ms", slot_ms, {estimate::SlotLength::kShortestMs, estimate::SlotLength::kLongestMs},
            "length of the site's slots; must equal the site's slot_ms");
  config.slot = estimate::SlotLength::FromMs(slot_ms).value_or(estimate::SlotLength());
  root.Choose("log_level", config.log_level, {"debug", "info", "warn", "error"},
              config::Hot("least severe line that is logged"));
  config.tls = config::ReadTlsFiles(root.Section("tls"));
  config.renewal = ReadRenewal(root.Section("tls"), config.tls.has_value());

  const config::ConfigSection uplink = root.Section("uplink");
  uplink.Read("aggregator", config.aggregator, "host:port, [IPv6 address]:port or unix:path");
  bool insecure = false;
  uplink.Read("insecure", insecure, "true: gRPC may leave the loopback without [tls]");
  const config::AddressReach reach{
      insecure || config.tls.has_value(),
      "give certificate, key and ca in [tls], or say insecure = true in [uplink]"};
  config::SettleAddress(uplink, "aggregator", config.aggregator, runtime::AddressUse::kDial, reach);
  uplink.Read("spool_frames", config.spool.frames, {1, 1 << 24},
              "frames kept while the aggregator is away; a full spool drops the oldest and counts it. The "
              "site refuses frames older than its max_age_s");
  uplink.Read("spool_bytes", config.spool.bytes, {4096, 1LL << 40}, "the same limit in bytes");
  config.disk = ReadDisk(uplink);
  uplink.Read("frames_per_message", config.frames_per_message, {1, 256},
              "4 cut the aggregator's CPU time by 3 for 2 ms of latency");
  uplink.Read("drain_s", config.drain_s, {0, 3600}, "how long SIGTERM waits for acknowledgements");

  config.http_listen = config::ReadHttpListen(root.Section("http"), kDefaultHttp);

  std::set<std::string> names;
  for (const config::ConfigSection& section : root.List("panel")) {
    config.panels.push_back(panel::ReadPanel(section, config.slot));
    const std::string& name = config.panels.back().name;
    if (!names.insert(name).second)
      section.Fault("name", fmt::format("\"{}\" is the name of two panels", name));
    if (config.http_listen.empty() && config.panels.back().retraining &&
        config.panels.back().retraining->http) {
      section.Section("retraining").Fault("http", "needs listen in [http]");
    }
  }
  if (learns) {
    const config::ConfigSection federation = root.Section("federation");
    config.federation = learner::ReadFederation(federation, config.aggregator);
    if (federation.Has("aggregator")) {
      config::SettleAddress(federation, "aggregator", config.federation->aggregator,
                            runtime::AddressUse::kDial, reach);
    }
  }
  CheckUdpPorts(file, config.panels);
  if ((config.panels.empty() && !learns) || config.panels.size() > kMaxPanels) {
    root.Fault("panel",
               fmt::format("expected 1 to {} [[panel]] tables, found {}", kMaxPanels, config.panels.size()));
  }
  config.fusion = ReadFusion(root, config);
  return config;
}

}  // namespace tributary::node
