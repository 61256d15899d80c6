#include "aggregator/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "aggregator/access_config.h"
#include "aggregator/room_config.h"
#include "core/config/config_address.h"
#include "core/estimate/categorical.h"
#include "core/learning/fitted_images.h"
#include "core/truth/truth.h"

namespace tributary::aggregator {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;
// Beyond a day an age limit protects from nothing.
constexpr double kMaxAgeS = 86'400;
// Two of the longest slots.
constexpr double kMaxDeadlineMs = 2 * estimate::SlotLength::kLongestMs;

std::string ReadDigest(const config::ConfigSection& site) {
  std::string hex;
  site.Read("model_sha256", hex, config::Hot("refuse nodes that run another model; \"\": any"));
  if (hex.empty()) return {};
  if (hex.size() != 64 || !std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit)) {
    site.Fault("model_sha256", "expected 64 hexadecimal digits, or nothing for any model");
    return {};
  }
  return absl::HexStringToBytes(hex);
}

void ReadLimit(const config::ConfigSection& site, std::string_view key, std::optional<std::int64_t>& limit_ns,
               config::Help help) {
  double limit_s = 1e-9 * static_cast<double>(*limit_ns);
  site.Read(key, limit_s, {0, kMaxAgeS}, help);
  limit_ns = static_cast<std::int64_t>(limit_s * kNsPerS);
  if (limit_s == 0) limit_ns.reset();
}

fusion::FusionTuning ReadTuning(const config::ConfigSection& site, estimate::SlotLength slot) {
  fusion::FusionTuning tuning;
  double deadline_ms = static_cast<double>(estimate::DefaultDeadlineNs(slot)) / kNsPerMs;
  site.Read("deadline_ms", deadline_ms, {0.1, kMaxDeadlineMs},
            config::Hot(
                "a slot is fused at the latest this long after its first frame, which counts from the slot's "
                "beginning if it came before; default: slot_ms + 4.5"));
  tuning.deadline_ns = static_cast<std::int64_t>(deadline_ms * kNsPerMs);
  site.Read("absent_after_slots", tuning.absent_after_slots, {0, 1 << 30},
            config::Hot("stop waiting for a source that missed this many in a row; 0: never"));
  site.Choose("late", tuning.late, {"count", "revise"},
              config::Hot("revise: fuse late frames in and publish the slot again"));
  site.Choose("method", tuning.method, {"product", "intersection"},
              config::Hot("intersection: for sources that may be correlated; with classes the log-linear "
                          "pool"));
  double gate = 0;
  site.Read("gate_probability", gate, {0, 1 - 1e-9},
            config::Hot("e.g. 0.999: leave out a tuple that disagrees more with the others than 99.9 % of a "
                        "consistent source's; 0: off"));
  if (gate > 0) tuning.gate_probability = gate;
  site.Read("track", tuning.track,
            config::Hot("track of each subject, straight or manoeuvring; gives velocities"));
  return tuning;
}

// After the plan has been read: it says where the sources stand.
void ReadCalibration(const config::ConfigSection& section, SiteSettings& site) {
  fusion::SiteConfig& fusion = site.fusion;
  fusion::CalibrationTuning& tuning = fusion.tuning.calibration;
  const config::ConfigSection table = section.Section("calibration");
  if (fusion.dimension == 2) tuning.mode = fusion::CalibrationMode::kObserve;
  table.Choose(
      "mode", tuning.mode, {"off", "observe", "correct"},
      config::Hot("the sources judge each other: how sure each should be, and how far its mounting is off. "
                  "correct: tuples are corrected before they are fused; for sites of two dimensions"));
  table.Read("window_s", tuning.window_s, {1, 86'400},
             config::Hot("an observation counts e times less after so long"));
  table.Read("shift_m", tuning.shift_m, {1e-4, 100},
             config::Hot("how far the sources' true places are from those of the plan: standard deviation"));
  table.Read(
      "turn_deg", tuning.turn_deg, {0.01, 45},
      config::Hot("how far the sources' true directions are from those of their nodes' files: standard "
                  "deviation"));
  if (tuning.mode != fusion::CalibrationMode::kOff && fusion.dimension != 2) {
    table.Fault("mode", "only sites of two dimensions can be calibrated");
  }
  table.ReadFile(
      "state", site.calibration_file,
      "file that keeps what is learnt over a restart; mode off removes it; \"\": a restart learns it again");
  if (!site.calibration_file.empty() && fusion.dimension != 2) {
    table.Fault("state", "only sites of two dimensions can be calibrated");
  }
  if (!site.account.room) return;
  tuning.places.assign(fusion.leaves.size(), {});
  for (const v1::RoomPanel& panel : site.account.room->panels()) {
    const auto leaf = std::ranges::find(fusion.leaves, panel.source());
    if (leaf == fusion.leaves.end()) continue;
    tuning.places[static_cast<std::size_t>(leaf - fusion.leaves.begin())] = {panel.x_m(), panel.y_m()};
  }
}

estimate::SlotLength ReadSlot(const config::ConfigSection& site) {
  double slot_ms = estimate::SlotLength().ms();
  site.Read(
      "slot_ms", slot_ms, {estimate::SlotLength::kShortestMs, estimate::SlotLength::kLongestMs},
      "length of a slot; nodes set the same. Sensors that share no phase need the longest interval of the "
      "slowest");
  return estimate::SlotLength::FromMs(slot_ms).value_or(estimate::SlotLength());
}

void ReadClasses(const config::ConfigSection& site, fusion::SiteConfig& fusion) {
  site.Read("classes", fusion.classes,
            "the classes whose probabilities the nodes report, in the order of their models; []: they report "
            "positions");
  site.Read("prior", fusion.prior, {estimate::kLeastPrior, 1},
            "probabilities of the classes before anything is received; []: all are equally likely");
  if (fusion.classes.empty()) return;
  if (!std::ranges::all_of(fusion.classes, config::IsName)) {
    site.Fault("classes", "expected names of 1 to 128 bytes without control and hidden characters");
  }
  if (site.Has("dimension")) {
    site.Fault("dimension", "a site with classes has none");
  }
  fusion.dimension = 0;
}

void ReadTruth(const config::ConfigSection& site, const fusion::SiteConfig& fusion,
               publish::SiteAccount& account) {
  std::string description;
  site.Read("truth", description,
            config::Hot("for simulated sources: room:seed=N or generator:seed=N,rate_hz=HZ, as "
                        "`tributary watch --truth` takes it. HTTP then gives true states to readers who "
                        "ask, and the bursts of emitters; \"\": nobody knows them"));
  if (description.empty()) return;
  absl::StatusOr<truth::Truth> truth = truth::Simulation(description);
  absl::StatusOr<truth::Bursts> bursts = truth::SimulatedBursts(description);
  if (!bursts.ok()) return site.Fault("truth", std::string(bursts.status().message()));
  const bool classes = !fusion.classes.empty();
  if (classes == description.starts_with("room")) {
    site.Fault("truth", classes ? "a site with classes has emitters: generator:…"
                                : "a site with positions has users of a room: room:…");
  }
  account.truth = *std::move(truth);
  account.bursts = *std::move(bursts);
}

publish::SiteAccount ReadAccount(const config::ConfigSection& site, const fusion::SiteConfig& fusion) {
  publish::SiteAccount account;
  site.Read("ready_sources", account.ready_sources, {0, fusion::kMaxLeaves},
            config::Hot("/readyz?site=NAME answers 200 from so many present sources on; 0: all of them"));
  if (account.ready_sources > fusion.leaves.size() && !fusion.leaves.empty()) {
    site.Fault("ready_sources",
               fmt::format("{}, but the site has {} sources", account.ready_sources, fusion.leaves.size()));
  }
  ReadTruth(site, fusion, account);
  account.room = ReadRoom(site, fusion.leaves);
  if (account.room) account.room->set_site(fusion.name);
  return account;
}

SiteSettings ReadSite(const config::ConfigSection& section, bool tls) {
  SiteSettings site;
  fusion::SiteConfig& fusion = site.fusion;
  section.ReadName("name", fusion.name, "unique; nodes give the same");
  section.Read("dimension", fusion.dimension, {1, 3}, "of the positions; a site with classes has none");
  ReadClasses(section, fusion);
  section.Read("sources", fusion.leaves, "required; the leaf sources of a complete slot");
  // What no hello may carry can never report.
  if (!std::ranges::all_of(fusion.leaves, config::IsName)) {
    section.Fault("sources", "expected names of 1 to 128 bytes without control and hidden characters");
  }
  section.Read("max_subjects", fusion.max_subjects, {1, 4096}, "in one frame; a frame with more is refused");
  fusion.slot = ReadSlot(section);
  ReadLimit(
      section, "max_age_s", fusion.max_age_ns,
      "older frames are refused, also those that a node kept while the aggregator was away; 0: no limit");
  ReadLimit(section, "max_lead_s", fusion.max_lead_ns,
            "frames further in the future are refused; 0: no limit");
  fusion.window_slots = fusion::DefaultWindowSlots(fusion);
  section.Read("window_slots", fusion.window_slots, {16, 1 << 20},
               "slots that may be under way at once; default: what max_age_s and max_lead_s span, rounded up "
               "to a power of two");
  fusion.tuning = ReadTuning(section, fusion.slot);
  site.model_sha256 = ReadDigest(section);
  site.owners = ReadOwners(section, fusion.leaves, tls);
  site.account = ReadAccount(section, fusion);
  ReadCalibration(section, site);
  // What single keys cannot tell.
  for (const auto& [key, fault] : fusion::FaultsOf(fusion)) {
    if (!section.HasFault(key)) section.Fault(key, fault);
  }
  return site;
}

config::AddressReach ReachOf(const AggregatorConfig& config) {
  return {config.insecure || config.tls.has_value(),
          "give certificate, key and ca in [tls], or say insecure = true at the top level"};
}

void ReadParent(const config::ConfigSection& section, const AggregatorConfig& config,
                ParentSettings& parent) {
  section.Read("aggregator", parent.aggregator,
               config::Required("host:port, [IPv6 address]:port or unix:path"));
  section.ReadName("node", parent.node,
                   "the name of this aggregator as a node there, and on its certificate if TLS is on");
  config::SettleAddress(section, "aggregator", parent.aggregator, runtime::AddressUse::kDial,
                        ReachOf(config));
  if (runtime::Reaches(parent.aggregator, config.listen)) {
    section.Fault("aggregator", fmt::format("\"{}\" is this aggregator itself, which listens on {}: name "
                                            "another one as its parent",
                                            parent.aggregator, config.listen));
  }
}

learning::EvaluationFiles ReadEvaluation(const config::ConfigSection& section) {
  learning::EvaluationFiles files;
  section.Read("images", files.images,
               config::Required("an idx file, a folder of PNG and JPEG files, or \"glyphs\" (built in)"));
  section.Read("labels", files.labels,
               "idx file; required where the images are one. The classes of a folder are its folders");
  section.Read("test_images", files.test_images, "\"\": every other image of the above");
  section.Read("test_labels", files.test_labels, "idx file; needed where the test images are one");
  files.fitted = learning::ReadFittedImages(section);
  section.Read("max_images", files.max_images, {0, 1 << 30}, "of each set; 0: all");
  for (std::string* named : {&files.images, &files.labels, &files.test_images, &files.test_labels}) {
    if (*named != "glyphs") *named = section.File(*named);
  }
  return files;
}

FederationSettings ReadFederation(const config::ConfigSection& section, const AggregatorConfig& config) {
  FederationSettings federation;
  section.ReadFile("store", federation.store,
                   config::Required("a folder, made if its parent exists; one aggregator at a time"));
  section.Read("keep_models", federation.keep_models, {0, 1 << 30},
               "of each run, the newest and the initial one; 0: all");
  section.Read("max_model_bytes", federation.max_model_bytes, {1 << 20, 1 << 30},
               "of all models that operators are sending with `run start`; starting a run needs some three "
               "times its model");
  section.Read("max_runs", federation.max_runs, {1, 100'000},
               "runs that have not ended; beyond them `run start` is refused. Each takes memory for its "
               "model and a sum");
  if (section.Has("evaluation")) federation.evaluation = ReadEvaluation(section.Section("evaluation"));
  if (section.Has("parent")) {
    const config::ConfigSection parent = section.Section("parent");
    ReadParent(parent, config, federation.parent.emplace());
    parent.Read("run", federation.parent->run, "\"\": the run that is active, or the next to start");
    parent.Read("min_nodes", federation.parent->min_nodes, {1, 10'000},
                "nodes that must have joined here before it takes part");
  }
  return federation;
}

void ReadAccessFiles(const config::ConfigSection& access, AggregatorConfig& config) {
  access.ReadFile(
      "tokens", config.access_files.tokens,
      "file of `tributary token create`, read again when it changes: who may call HTTP with a bearer "
      "token; default: none");
  access.ReadFile(
      "audit_log", config.access_files.audit_log,
      "file that gets a line of JSON for each operation; at 16 MiB it becomes FILE.1; default: none");
}

// After [http]: a board that has no certificate joins over HTTPS.
void ReadAuthority(const config::ConfigSection& access, AggregatorConfig& config) {
  constexpr std::int64_t kDayS = 86'400;
  AccessFiles& files = config.access_files;
  access.ReadFile(
      "authority", files.authority,
      config::Hot(
          "folder of `tributary certs` with ca.key: boards join by a token and renew their certificates; "
          "whoever takes this machine can then make certificates of any name; default: none"));
  std::int64_t days = files.certificate_lifetime_s / kDayS;
  access.Read("certificate_days", days, {1, 730}, "how long certificates of the authority are valid");
  files.certificate_lifetime_s = days * kDayS;
  if (files.authority.empty()) return;
  if (!config.tls) access.Fault("authority", "needs certificate, key and ca in [tls]");
  if (!config.http_tls) access.Fault("authority", "needs tls = true in [http]: boards join over HTTPS");
}

void ReadHttp(const config::ConfigSection& http, AggregatorConfig& config) {
  using Anonymous = access::HttpAccess::Anonymous;
  http.Read("tls", config.http_tls,
            "true: HTTPS by the certificate of [tls]; a client shows a certificate of the CA or a token");
  config.http_listen = config::ReadHttpListen(http, "127.0.0.1:7480",
                                              config.http_tls ? config::HttpTls::kOn : config::HttpTls::kOff);
  if (config.http_tls) config.http_anonymous = Anonymous::kNobody;
  http.Choose(
      "anonymous", config.http_anonymous, {"nobody", "viewer", "operator"},
      "whom a client without certificate, token and session counts as; operator: on the loopback only; "
      "default: viewer, with tls nobody");
  if (config.http_tls && !config.tls) http.Fault("tls", "needs certificate, key and ca in [tls]");
  if (config.http_anonymous == Anonymous::kOperator && !runtime::IsLoopback(config.http_listen)) {
    http.Fault("anonymous",
               fmt::format("\"operator\" lets everybody who reaches {} control runs: it is for the "
                           "loopback only",
                           config.http_listen));
  }
}

}  // namespace

AggregatorConfig ReadAggregatorConfig(const config::ConfigFile& file) {
  const config::ConfigSection root = file.Root();
  AggregatorConfig config;
  root.Read(
      "listen", config.listen,
      "gRPC: host:port, [IPv6 address]:port or unix:path. To leave the loopback, fill [tls] or set insecure");
  root.Read("insecure", config.insecure, "true: gRPC may leave the loopback without [tls]");
  root.Choose("log_level", config.log_level, {"debug", "info", "warn", "error"},
              config::Hot("least severe line that is logged"));
  config.tls = config::ReadTlsFiles(root.Section("tls"), true);
  config::SettleAddress(root, "listen", config.listen, runtime::AddressUse::kListen, ReachOf(config));

  config.access = ReadAccess(root, config.tls.has_value());
  ReadAccessFiles(root.Section("access"), config);

  const config::ConfigSection ingest = root.Section("ingest");
  ingest.Read("threads", config.ingest_threads, {1, 64},
              "one takes millions of tuples a second, and a slot is fused soonest with it; more help if it "
              "is busy all the time");
  ingest.Read("max_message_bytes", config.max_message_bytes, {4096, 64 << 20},
              "larger messages of nodes are refused");
  // gRPC refuses a message of more than twice the limit.
  config.connections.unheard_bytes =
      std::max(config.connections.unheard_bytes, 2 * config.max_message_bytes + (64 << 10));
  ingest.Read(
      "max_connections", config.connections.connections, {16, 65'536},
      "of the gRPC port. Raise the unit's MemoryMax with it: --check prints what all limits add up to");
  ingest.Read("max_connections_per_address", config.connections.of_address, {1, 65'536},
              "of these, the ones from one IPv4 address or one IPv6 network of 64 bits");
  ingest.Read("max_calls", config.connections.calls, {32, 1 << 20},
              "that are not over, of which one peer may have half; a node that learns has two at a time");
  ingest.Read(
      "memory_bytes", config.memory_bytes, {0, std::int64_t{1} << 40},
      "at three quarters of it, connections are cut that make memory grow; 0: the unit's MemoryMax, or the "
      "machine's memory");

  const config::ConfigSection http = root.Section("http");
  ReadHttp(http, config);
  ReadAuthority(root.Section("access"), config);
  const absl::StatusOr<runtime::HostPort> address = runtime::ParseHostPort(config.http_listen);
  if (address.ok() && address->port != 0 && config.http_listen == config.listen) {
    http.Fault("listen", fmt::format("\"{}\" is where gRPC listens", config.http_listen));
  }

  std::set<std::string> names, calibration_files;
  for (const config::ConfigSection& section : root.List("site")) {
    config.sites.push_back(ReadSite(section, config.tls.has_value()));
    const std::string& name = config.sites.back().fusion.name;
    if (!names.insert(name).second)
      section.Fault("name", fmt::format("\"{}\" is the name of two sites", name));
    const std::string& kept = config.sites.back().calibration_file;
    if (!kept.empty() && !calibration_files.insert(kept).second)
      section.Section("calibration").Fault("state", fmt::format("{}: is the file of two sites", kept));
  }
  if (root.Has("federation")) config.federation = ReadFederation(root.Section("federation"), config);
  if (config.sites.empty() && !config.federation) {
    root.Fault("site", "at least one [[site]] is required, or [federation]");
  }

  if (root.Has("parent")) ReadParent(root.Section("parent"), config, config.parent.emplace());
  return config;
}

config::TlsUses TlsUsesOf(const AggregatorConfig& config) {
  return {.server = true, .client = config.parent || (config.federation && config.federation->parent)};
}

access::AccessPolicy PolicyOf(const AggregatorConfig& config, const AggregatorConfig& started) {
  std::vector<access::SiteOwnership> sites;
  for (std::size_t i = 0; i < started.sites.size(); ++i) {
    const fusion::SiteConfig& site = started.sites[i].fusion;
    sites.push_back({site.name, site.leaves, config.sites[i].owners});
  }
  return {config.access, sites};
}

}  // namespace tributary::aggregator
