#include "aggregator/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "aggregator/fusion/leaf_set.h"
#include "core/config/config_address.h"

namespace tributary {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;
// Beyond a day an age limit protects from nothing.
constexpr double kMaxAgeS = 86'400;
// Two of the longest slots.
constexpr double kMaxDeadlineMs = 2 * SlotLength::kLongestMs;

std::string ReadDigest(const ConfigSection& site) {
  const std::string hex = site.Text("model_sha256", "");
  if (hex.empty()) return {};
  if (hex.size() != 64 || !std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit)) {
    site.Fault("model_sha256", "expected 64 hexadecimal digits, or nothing for any model");
    return {};
  }
  return absl::HexStringToBytes(hex);
}

std::optional<std::int64_t> ReadLimit(const ConfigSection& site, std::string_view key, double default_s) {
  const double limit_s = site.Real(key, default_s, {0, kMaxAgeS});
  if (limit_s == 0) return std::nullopt;
  return static_cast<std::int64_t>(limit_s * kNsPerS);
}

FusionTuning ReadTuning(const ConfigSection& site, SlotLength slot) {
  FusionTuning tuning;
  const double default_ms = static_cast<double>(DefaultDeadlineNs(slot)) / kNsPerMs;
  tuning.deadline_ns =
      static_cast<std::int64_t>(site.Real("deadline_ms", default_ms, {0.1, kMaxDeadlineMs}) * kNsPerMs);
  tuning.absent_after_slots =
      static_cast<std::uint32_t>(site.Integer("absent_after_slots", 0, {0, std::int64_t{1} << 30}));
  tuning.late =
      site.Choice("late", "count", {"count", "revise"}) == "count" ? LatePolicy::kCount : LatePolicy::kRevise;
  tuning.method = site.Choice("method", "product", {"product", "intersection"}) == "product"
                      ? FusionMethod::kProduct
                      : FusionMethod::kIntersection;
  const double gate = site.Real("gate_probability", 0, {0, 1 - 1e-9});
  if (gate > 0) tuning.gate_probability = gate;
  if (site.Boolean("track", false)) tuning.track.emplace();
  return tuning;
}

SlotLength ReadSlot(const ConfigSection& site) {
  const double slot_ms =
      site.Real("slot_ms", SlotLength().ms(), {SlotLength::kShortestMs, SlotLength::kLongestMs});
  return SlotLength::FromMs(slot_ms).value_or(SlotLength());
}

SiteSettings ReadSite(const ConfigSection& section) {
  SiteSettings site;
  SiteConfig& fusion = site.fusion;
  fusion.name = section.RequiredName("name");
  fusion.dimension = static_cast<std::uint32_t>(section.Integer("dimension", 2, {1, 3}));
  fusion.leaves = section.Texts("sources");
  if (fusion.leaves.empty() || fusion.leaves.size() > LeafSet::kCapacity) {
    section.Fault("sources", fmt::format("expected the names of 1 to {} sources", LeafSet::kCapacity));
  }
  std::set<std::string_view> names;
  for (const std::string& leaf : fusion.leaves) {
    if (!names.insert(leaf).second) section.Fault("sources", fmt::format("\"{}\" is named twice", leaf));
    // What no hello may carry can never report.
    constexpr std::size_t kMaxNameBytes = 128;
    const bool controls = std::any_of(leaf.begin(), leaf.end(), absl::ascii_iscntrl);
    if (leaf.empty() || leaf.size() > kMaxNameBytes || controls) {
      section.Fault("sources",
                    fmt::format("expected names of 1 to {} bytes without control characters", kMaxNameBytes));
    }
  }
  fusion.max_subjects = static_cast<std::uint32_t>(section.Integer("max_subjects", 64, {1, 4096}));
  fusion.slot = ReadSlot(section);
  fusion.max_age_ns = ReadLimit(section, "max_age_s", 1e-9 * static_cast<double>(*fusion.max_age_ns));
  fusion.max_lead_ns = ReadLimit(section, "max_lead_s", 1e-9 * static_cast<double>(*fusion.max_lead_ns));
  fusion.window_slots =
      static_cast<std::uint32_t>(section.Integer("window_slots", DefaultWindowSlots(fusion), {16, 1 << 20}));
  fusion.tuning = ReadTuning(section, fusion.slot);
  site.model_sha256 = ReadDigest(section);
  // What the engine alone can judge; the single faults above name their key.
  if (absl::Status status = Validate(fusion); !status.ok()) section.Fault("", std::string(status.message()));
  return site;
}

AddressReach ReachOf(const AggregatorConfig& config) {
  return {config.insecure || config.tls.has_value(),
          "give certificate, key and ca in [tls], or say insecure = true at the top level"};
}

FederationParentSettings ReadFederationParent(const ConfigSection& section, const AggregatorConfig& config) {
  FederationParentSettings parent;
  parent.aggregator = section.RequiredText("aggregator");
  parent.node = section.RequiredName("node");
  parent.run = section.Text("run", "");
  parent.min_nodes = static_cast<std::size_t>(section.Integer("min_nodes", 2, {1, 10'000}));
  CheckAddressKey(section, "aggregator", parent.aggregator, AddressUse::kDial, ReachOf(config));
  return parent;
}

FederationSettings ReadFederation(const ConfigSection& section, const AggregatorConfig& config) {
  FederationSettings federation;
  federation.store = section.File(section.RequiredText("store"));
  federation.keep_models = static_cast<std::uint32_t>(section.Integer("keep_models", 0, {0, 1 << 30}));
  if (section.Has("evaluation")) {
    const ConfigSection evaluation = section.Section("evaluation");
    const auto file = [&evaluation](const std::string& named) {
      return named == "glyphs" ? named : evaluation.File(named);
    };
    federation.evaluation =
        EvaluationFiles{file(evaluation.RequiredText("images")), file(evaluation.Text("labels", "")),
                        file(evaluation.Text("test_images", "")), file(evaluation.Text("test_labels", "")),
                        static_cast<std::size_t>(evaluation.Integer("max_images", 0, {0, 1 << 30}))};
  }
  if (section.Has("parent")) federation.parent = ReadFederationParent(section.Section("parent"), config);
  return federation;
}

AggregatorConfig ReadRoot(const ConfigSection& root) {
  AggregatorConfig config;
  config.listen = root.Text("listen", "127.0.0.1:7400");
  config.insecure = root.Boolean("insecure", false);
  config.log_level = root.Choice("log_level", "info", {"debug", "info", "warn", "error"});
  config.tls = ReadTlsFiles(root.Section("tls"));
  CheckAddressKey(root, "listen", config.listen, AddressUse::kListen, ReachOf(config));

  const ConfigSection ingest = root.Section("ingest");
  config.ingest_threads = static_cast<std::size_t>(ingest.Integer("threads", 1, {1, 64}));
  config.max_message_bytes =
      static_cast<std::size_t>(ingest.Integer("max_message_bytes", 1 << 20, {4096, 64 << 20}));

  const ConfigSection http = root.Section("http");
  config.http_listen = ReadHttpListen(http, "127.0.0.1:7480");
  const absl::StatusOr<HostPort> address = ParseHostPort(config.http_listen);
  if (address.ok() && address->port != 0 && config.http_listen == config.listen) {
    http.Fault("listen", fmt::format("\"{}\" is where gRPC listens", config.http_listen));
  }

  std::set<std::string> names;
  for (const ConfigSection& section : root.List("site")) {
    config.sites.push_back(ReadSite(section));
    const std::string& name = config.sites.back().fusion.name;
    if (!names.insert(name).second)
      section.Fault("name", fmt::format("\"{}\" is the name of two sites", name));
  }
  if (root.Has("federation")) {
    config.federation = ReadFederation(root.Section("federation"), config);
  }
  if (config.sites.empty() && !config.federation) {
    root.Fault("site", "at least one [[site]] is required, or [federation]");
  }

  if (root.Has("parent")) {
    const ConfigSection parent = root.Section("parent");
    config.parent = ParentSettings{parent.RequiredText("aggregator"), parent.RequiredName("node")};
    CheckAddressKey(parent, "aggregator", config.parent->aggregator, AddressUse::kDial, ReachOf(config));
  }
  return config;
}

absl::StatusOr<AggregatorConfig> Read(const ConfigFile& file) {
  AggregatorConfig config = ReadAggregatorConfig(file);
  if (absl::Status status = file.Finish(); !status.ok()) return status;
  return config;
}

}  // namespace

AggregatorConfig ReadAggregatorConfig(const ConfigFile& file) { return ReadRoot(file.Root()); }

absl::StatusOr<AggregatorConfig> ReadAggregatorConfig(const std::string& path) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Read(path);
  if (!file.ok()) return file.status();
  return Read(*file);
}

absl::StatusOr<AggregatorConfig> ParseAggregatorConfig(std::string_view text, std::string_view path) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, path);
  if (!file.ok()) return file.status();
  return Read(*file);
}

}  // namespace tributary
