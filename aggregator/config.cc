#include "aggregator/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "core/config/config_address.h"

namespace tributary::aggregator {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;
// Beyond a day an age limit protects from nothing.
constexpr double kMaxAgeS = 86'400;
// Two of the longest slots.
constexpr double kMaxDeadlineMs = 2 * estimate::SlotLength::kLongestMs;

std::string ReadDigest(const config::ConfigSection& site) {
  const std::string hex =
      site.Text("model_sha256", "", config::Hot("refuse nodes that run another model; \"\": any"));
  if (hex.empty()) return {};
  if (hex.size() != 64 || !std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit)) {
    site.Fault("model_sha256", "expected 64 hexadecimal digits, or nothing for any model");
    return {};
  }
  return absl::HexStringToBytes(hex);
}

std::optional<std::int64_t> ReadLimit(const config::ConfigSection& site, std::string_view key,
                                      double default_s, config::Help help) {
  const double limit_s = site.Real(key, default_s, {0, kMaxAgeS}, help);
  if (limit_s == 0) return std::nullopt;
  return static_cast<std::int64_t>(limit_s * kNsPerS);
}

fusion::FusionTuning ReadTuning(const config::ConfigSection& site, estimate::SlotLength slot) {
  fusion::FusionTuning tuning;
  const double default_ms = static_cast<double>(estimate::DefaultDeadlineNs(slot)) / kNsPerMs;
  tuning.deadline_ns = static_cast<std::int64_t>(
      site.Real(
          "deadline_ms", default_ms, {0.1, kMaxDeadlineMs},
          config::Hot(
              "a slot is fused at the latest this long after its first frame; default: slot_ms + 4.5")) *
      kNsPerMs);
  tuning.absent_after_slots = static_cast<std::uint32_t>(
      site.Integer("absent_after_slots", 0, {0, std::int64_t{1} << 30},
                   config::Hot("stop waiting for a source that missed this many in a row; 0: never")));
  tuning.late = site.Choice("late", "count", {"count", "revise"},
                            config::Hot("revise: fuse late frames in and publish the slot again")) == "count"
                    ? fusion::LatePolicy::kCount
                    : fusion::LatePolicy::kRevise;
  tuning.method = site.Choice("method", "product", {"product", "intersection"},
                              config::Hot("intersection: for sources that may be correlated")) == "product"
                      ? fusion::FusionMethod::kProduct
                      : fusion::FusionMethod::kIntersection;
  const double gate =
      site.Real("gate_probability", 0, {0, 1 - 1e-9},
                config::Hot("e.g. 0.999: leave out tuples outside this chi-square probability; 0: off"));
  if (gate > 0) tuning.gate_probability = gate;
  if (site.Boolean("track", false, config::Hot("constant-velocity track of each subject")))
    tuning.track.emplace();
  return tuning;
}

estimate::SlotLength ReadSlot(const config::ConfigSection& site) {
  const double slot_ms = site.Real("slot_ms", estimate::SlotLength().ms(),
                                   {estimate::SlotLength::kShortestMs, estimate::SlotLength::kLongestMs},
                                   "length of a slot; nodes set the same. Sensors that share no phase need "
                                   "the longest interval of the slowest");
  return estimate::SlotLength::FromMs(slot_ms).value_or(estimate::SlotLength());
}

SiteSettings ReadSite(const config::ConfigSection& section) {
  SiteSettings site;
  fusion::SiteConfig& fusion = site.fusion;
  fusion.name = section.RequiredName("name", "unique; nodes give the same");
  fusion.dimension = static_cast<std::uint32_t>(section.Integer("dimension", 2, {1, 3}, "of the tuples"));
  fusion.leaves = section.Texts("sources", "required; the leaf sources of a complete slot");
  fusion.max_subjects = static_cast<std::uint32_t>(
      section.Integer("max_subjects", 64, {1, 4096}, "in one frame; a frame with more is refused"));
  fusion.slot = ReadSlot(section);
  fusion.max_age_ns = ReadLimit(section, "max_age_s", 1e-9 * static_cast<double>(*fusion.max_age_ns),
                                "older frames are refused; 0: no limit");
  fusion.max_lead_ns = ReadLimit(section, "max_lead_s", 1e-9 * static_cast<double>(*fusion.max_lead_ns),
                                 "frames further in the future are refused; 0: no limit");
  fusion.window_slots = static_cast<std::uint32_t>(
      section.Integer("window_slots", fusion::DefaultWindowSlots(fusion), {16, 1 << 20},
                      "slots that may be under way at once; default: what max_age_s and max_lead_s span, "
                      "rounded up to a power of two"));
  fusion.tuning = ReadTuning(section, fusion.slot);
  site.model_sha256 = ReadDigest(section);
  for (const fusion::SettingFault& fault : fusion::FaultsOf(fusion)) section.Fault(fault.key, fault.message);
  return site;
}

config::AddressReach ReachOf(const AggregatorConfig& config) {
  return {config.insecure || config.tls.has_value(),
          "give certificate, key and ca in [tls], or say insecure = true at the top level"};
}

ParentSettings ReadParent(const config::ConfigSection& section, const AggregatorConfig& config) {
  ParentSettings parent;
  parent.aggregator = section.RequiredText("aggregator", "host:port, [IPv6 address]:port or unix:path");
  parent.node = section.RequiredName(
      "node", "the name of this aggregator as a node there, and on its certificate if TLS is on");
  config::CheckAddressKey(section, "aggregator", parent.aggregator, runtime::AddressUse::kDial,
                          ReachOf(config));
  return parent;
}

FederationParentSettings ReadFederationParent(const config::ConfigSection& section,
                                              const AggregatorConfig& config) {
  return {ReadParent(section, config),
          section.Text("run", "", "\"\": the run that is active, or the next to start"),
          static_cast<std::size_t>(section.Integer("min_nodes", 2, {1, 10'000},
                                                   "nodes that must have joined here before it takes part"))};
}

FederationSettings ReadFederation(const config::ConfigSection& section, const AggregatorConfig& config) {
  FederationSettings federation;
  federation.store = section.File(
      section.RequiredText("store", "a folder, made if its parent exists; one aggregator at a time"));
  federation.keep_models = static_cast<std::uint32_t>(
      section.Integer("keep_models", 0, {0, 1 << 30}, "of each run, the newest and the initial one; 0: all"));
  if (section.Has("evaluation")) {
    const config::ConfigSection evaluation = section.Section("evaluation");
    const auto file = [&evaluation](const std::string& named) {
      return named == "glyphs" ? named : evaluation.File(named);
    };
    federation.evaluation = learning::EvaluationFiles{
        file(evaluation.RequiredText("images", "an idx file, or \"glyphs\" for the built-in ones")),
        file(evaluation.Text("labels", "", "required unless the images are glyphs; idx file")),
        file(evaluation.Text("test_images", "", "\"\": every other image of the above")),
        file(evaluation.Text("test_labels", "", "idx file; needed with test_images")),
        static_cast<std::size_t>(evaluation.Integer("max_images", 0, {0, 1 << 30}, "of each set; 0: all"))};
  }
  if (section.Has("parent")) federation.parent = ReadFederationParent(section.Section("parent"), config);
  return federation;
}

}  // namespace

AggregatorConfig ReadAggregatorConfig(const config::ConfigFile& file) {
  const config::ConfigSection root = file.Root();
  AggregatorConfig config;
  config.listen = root.Text(
      "listen", "127.0.0.1:7400",
      "gRPC: host:port, [IPv6 address]:port or unix:path. To leave the loopback, fill [tls] or set insecure");
  config.insecure = root.Boolean("insecure", false, "true: gRPC may leave the loopback without [tls]");
  config.log_level = root.Choice("log_level", "info", {"debug", "info", "warn", "error"},
                                 config::Hot("least severe line that is logged"));
  config.tls = config::ReadTlsFiles(root.Section("tls"));
  config::CheckAddressKey(root, "listen", config.listen, runtime::AddressUse::kListen, ReachOf(config));

  const config::ConfigSection ingest = root.Section("ingest");
  config.ingest_threads = static_cast<std::size_t>(
      ingest.Integer("threads", 1, {1, 64}, "one takes millions of tuples a second"));
  config.max_message_bytes = static_cast<std::size_t>(
      ingest.Integer("max_message_bytes", 1 << 20, {4096, 64 << 20}, "larger messages of nodes are refused"));

  const config::ConfigSection http = root.Section("http");
  config.http_listen = config::ReadHttpListen(http, "127.0.0.1:7480");
  const absl::StatusOr<runtime::HostPort> address = runtime::ParseHostPort(config.http_listen);
  if (address.ok() && address->port != 0 && config.http_listen == config.listen) {
    http.Fault("listen", fmt::format("\"{}\" is where gRPC listens", config.http_listen));
  }

  std::set<std::string> names;
  for (const config::ConfigSection& section : root.List("site")) {
    config.sites.push_back(ReadSite(section));
    const std::string& name = config.sites.back().fusion.name;
    if (!names.insert(name).second)
      section.Fault("name", fmt::format("\"{}\" is the name of two sites", name));
  }
  if (root.Has("federation")) config.federation = ReadFederation(root.Section("federation"), config);
  if (config.sites.empty() && !config.federation) {
    root.Fault("site", "at least one [[site]] is required, or [federation]");
  }

  if (root.Has("parent")) config.parent = ReadParent(root.Section("parent"), config);
  return config;
}

}  // namespace tributary::aggregator
