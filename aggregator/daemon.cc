#include "aggregator/daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "aggregator/access/session_routes.h"
#include "aggregator/federation_host.h"
#include "aggregator/join/join_routes.h"
#include "aggregator/join/renewal_service.h"
#include "aggregator/learning/service/run_api.h"
#include "aggregator/memory_ceiling.h"
#include "aggregator/parent_link.h"
#include "aggregator/publish/api.h"
#include "aggregator/publish/page.h"
#include "aggregator/publish/readiness.h"
#include "core/certificates/new_certificate.h"
#include "core/config/pem.h"
#include "core/http/http_server.h"
#include "core/runtime/clock_discipline.h"
#include "core/runtime/log.h"
#include "core/runtime/memory_limit.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::aggregator {
namespace {

using runtime::Counted;

constexpr std::chrono::milliseconds kParentDrain{1000};

// The changed tuning of a site that goes on with its sources: those may have been named in another order, and
// the places of the calibration are in that order.
fusion::FusionTuning TuningFor(const fusion::SiteConfig& site, const fusion::SiteConfig& changed) {
  fusion::FusionTuning tuning = changed.tuning;
  if (tuning.calibration.places.empty()) return tuning;
  tuning.calibration.places.assign(site.leaves.size(), {});
  for (std::size_t leaf = 0; leaf < site.leaves.size(); ++leaf) {
    const auto found = std::ranges::find(changed.leaves, site.leaves[leaf]);
    if (found == changed.leaves.end()) continue;
    tuning.calibration.places[leaf] =
        changed.tuning.calibration.places[static_cast<std::size_t>(found - changed.leaves.begin())];
  }
  return tuning;
}

}  // namespace

Daemon::Daemon(const AggregatorConfig& config, const runtime::Clock& clock)
    : config_(config), clock_(clock), access_(PolicyOf(config, config), clock) {}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(PreparedAggregator prepared,
                                                       const runtime::Clock& clock) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon(prepared.config, clock));
  const AggregatorConfig& config = daemon->config_;
  if (prepared.tls) {
    daemon->tls_ =
        std::make_shared<config::LiveTls>(*config.tls, TlsUsesOf(config), *std::move(prepared.tls), clock);
    daemon->state_.access = &daemon->access_;
    daemon->FollowList();
  }
  RETURN_IF_ERROR(daemon->OpenAccess(std::move(prepared.tokens)));
  if (prepared.authority) {
    daemon->desk_ = std::make_unique<join::CertificateDesk>(
        *std::move(prepared.authority), config.access_files.certificate_lifetime_s, clock);
    daemon->renewals_ = join::MakeRenewalService(*daemon->desk_, daemon->audit_.get());
  }
  RETURN_IF_ERROR(daemon->MakeSites());
  if (config.federation) {
    auto federation = FederationHost::Start(*config.federation, std::move(prepared.evaluation), daemon->tls_,
                                            clock, daemon->audit_.get());
    if (!federation.ok()) return WithContext("federation.store", federation.status());
    daemon->federation_ = *std::move(federation);
    daemon->state_.learners = [host = daemon->federation_.get()] { return host->Learners(); };
    daemon->state_.store_healthy = [host = daemon->federation_.get()] { return host->store_healthy(); };
  }
  return daemon;
}

absl::Status Daemon::OpenAccess(config::TokenSet tokens) {
  if (!config_.access_files.audit_log.empty()) {
    auto audit = access::AuditLog::Open(config_.access_files.audit_log, clock_);
    if (!audit.ok()) return WithContext("access.audit_log", audit.status());
    audit_ = *std::move(audit);
  }
  const auto told = [this](const config::AccessToken& token, bool added) {
    if (audit_ == nullptr) return;
    audit_->Add({{.way = "file"},
                 added ? "AddToken" : "RemoveToken",
                 fmt::format("{} {} ({}{})", token.id, token.name, config::TokenRoleName(token.role),
                             token.boards.empty() ? "" : " as " + absl::StrJoin(token.boards, ", ")),
                 absl::OkStatus()});
  };
  tokens_ =
      std::make_unique<access::LiveTokens>(config_.access_files.tokens, std::move(tokens), clock_, told);
  http_access_ = std::make_unique<access::HttpAccess>(access_, *tokens_, sessions_, config_.http_anonymous,
                                                      clock_, audit_.get());
  return absl::OkStatus();
}

absl::Status Daemon::Start() {
  const std::uint64_t memory = config_.memory_bytes > 0 ? config_.memory_bytes : runtime::MemoryLimit();
  const std::vector<MemoryTerm> terms = MemoryTerms(config_);
  if (const std::optional<std::string> advice = MemoryAdvice(terms, memory))
    runtime::LogWarning("{}", *advice);
  server::IngestOptions options{
      config_.listen, tls_, config_.ingest_threads, config_.max_message_bytes, config_.connections, {},
      memory};
  if (federation_ != nullptr) federation_->AddServices(options.services);
  if (renewals_ != nullptr) options.services.push_back(renewals_.get());
  absl::StatusOr<std::unique_ptr<server::IngestServer>> server = server::IngestServer::Start(options, state_);
  if (!server.ok()) return WithContext("listen", server.status());
  server_ = *std::move(server);
  started_steady_ns_ = clock_.SteadyNs();
  state_.takes_streams = [server = server_.get()] { return server->serving(); };
  metrics_.AddProcessMetrics();
  runtime::AddClockMetrics(metrics_);
  metrics_.AddCollector([this](runtime::Reading& reading) { Collect(reading); });
  if (absl::Status status = StartHttp(); !status.ok()) {
    said_what_was_served_ = true;  // nothing was: the cause is the only line
    return status;
  }
  calibrations_.Start();
  runtime::LogInfo("aggregator listens on {}{}{}, {}, {}", config_.listen,
                   config_.listen.starts_with("unix:") ? "" : fmt::format(" (port {})", port()),
                   tls_ != nullptr ? ", mutual TLS" : "", Counted(config_.sites.size(), "site"),
                   http_ != nullptr
                       ? fmt::format("{} port {}", config_.http_tls ? "HTTPS" : "HTTP", http_port())
                       : "no HTTP");
  runtime::LogInfo("peers can make it take {} of memory; it may have {} MiB", MiB(SumOf(terms)),
                   memory >> 20);
  return absl::OkStatus();
}

absl::Status Daemon::MakeSites() {
  for (const SiteSettings& settings : config_.sites) {
    ASSIGN_OR_RETURN(std::unique_ptr<fusion::FusionEngine> engine,
                     fusion::FusionEngine::Create(settings.fusion));
    publish::Site& site = state_.sites.Add(std::move(engine), settings.model_sha256, metrics_);
    site.set_account(settings.account);
    if (!settings.calibration_file.empty())
      calibrations_.Add(site.engine(), settings.calibration_file, clock_);
    if (!config_.parent) continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<ParentLink> link,
                     ParentLink::Create(*config_.parent, settings.fusion, tls_, clock_, metrics_));
    parents_.push_back(link);
    site.feed().Add(link);
  }
  return absl::OkStatus();
}

void Daemon::Collect(runtime::Reading& reading) const {
  for (const auto& site : state_.sites.all()) site->Collect(reading);
  calibrations_.Collect(reading);
  publish::CollectReadiness(state_, reading);
  server_->Collect(reading);
  access_.Collect(reading);
  if (tls_ != nullptr) tls_->Collect(reading);
  tokens_->Collect(reading);
  access::CollectAudit(audit_.get(), reading);
  if (desk_ != nullptr) desk_->Collect(reading);
  if (federation_ != nullptr) federation_->Collect(reading);
}

absl::Status Daemon::StartHttp() {
  if (config_.http_listen.empty()) return absl::OkStatus();
  http_ = std::make_unique<http::HttpServer>();
  http_->SetGate([this](http::HttpRequest& request) { return http_access_->Judge(request); });
  if (config_.http_tls) http_->SetTls(tls_);
  access::AddSessionRoutes(*http_, sessions_, clock_, audit_.get());
  if (desk_ != nullptr) join::AddJoinRoutes(*http_, *desk_, *tokens_, tls_, audit_.get());
  http::AddDaemonRoutes(*http_, metrics_);
  publish::AddApiRoutes(*http_, state_);
  publish::AddPageRoutes(*http_, publish::PageFiles());
  if (federation_ != nullptr) {
    federation_->AddRoutes(*http_);
  } else {
    learning::AddRoutesWithoutRuns(*http_);
  }
  return WithContext("http.listen", http_->Start(config_.http_listen));
}

int Daemon::http_port() const { return http_ == nullptr ? 0 : http_->port(); }

absl::Status Daemon::Reload(const AggregatorConfig& config) {
  if (config.sites.size() != config_.sites.size()) {
    return absl::FailedPreconditionError("the number of sites differs: restart to change it");
  }
  // All is checked before anything changes; the tuning was, when it was read.
  for (std::size_t i = 0; i < config.sites.size(); ++i) {
    if (config.sites[i].fusion.name != config_.sites[i].fusion.name) {
      return absl::FailedPreconditionError("the names or the order of sites differ: restart to change them");
    }
  }
  ASSIGN_OR_RETURN(std::optional<join::Authority> authority, NextAuthority(config));
  for (std::size_t i = 0; i < config.sites.size(); ++i) {
    publish::Site& site = *state_.sites.all()[i];
    RETURN_IF_ERROR(site.engine().Reconfigure(TuningFor(config_.sites[i].fusion, config.sites[i].fusion)));
    site.set_model_sha256(config.sites[i].model_sha256);
    site.set_account(config.sites[i].account);
  }
  calibrations_.UpdateSoon();
  access_.set_policy(PolicyOf(config, config_));
  server_->FollowPolicy();
  RETURN_IF_ERROR(runtime::SetUpLog(config.log_level));
  if (config.tls.has_value() != config_.tls.has_value()) {
    runtime::LogWarning("reload: restart to turn TLS {}", config.tls ? "on" : "off");
  } else if (tls_ != nullptr) {
    tls_->Reload(*config.tls);
    FollowList();
  }
  if (authority) TakeAuthority(*std::move(authority), config.access_files.authority);
  runtime::LogInfo(
      "reload: took log_level ({}), [access], and the tuning, model_sha256, ready_sources, truth and plan of "
      "{}",
      config.log_level, Counted(config.sites.size(), "site"));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<join::Authority>> Daemon::NextAuthority(const AggregatorConfig& config) const {
  const std::string& folder = config.access_files.authority;
  if (folder.empty() != (desk_ == nullptr)) {
    runtime::LogWarning("reload: restart to turn the authority {}", folder.empty() ? "off" : "on");
  }
  if (folder.empty() || desk_ == nullptr) return std::nullopt;
  // The CA file may have changed with it. A bad one stays out of force, so the present one counts then.
  const absl::StatusOr<std::string> trusted = config::ReadPem(config.tls->ca);
  absl::StatusOr<join::Authority> read =
      join::ReadAuthority(folder, trusted.ok() ? *trusted : tls_->material()->ca_pem);
  if (!read.ok()) return WithContext("access.authority", read.status());
  if (certificates::PemOf(*read->pair.certificate) == desk_->ca_pem()) return std::nullopt;
  return *std::move(read);
}

void Daemon::TakeAuthority(join::Authority authority, const std::string& folder) {
  const std::string sha256 = certificates::Fingerprint(*authority.pair.certificate);
  desk_->Replace(std::move(authority));
  runtime::LogInfo("certificates: the authority of {} signs from now on", runtime::Printable(folder));
  if (audit_ != nullptr) audit_->Add({{.way = "file"}, "TakeAuthority", sha256, absl::OkStatus()});
}

void Daemon::FollowFiles() {
  tokens_->Poll();
  access_.TellRefused(audit_.get());
  if (tls_ == nullptr) return;
  tls_->Poll();
  FollowCertificate();
  FollowList();
}

void Daemon::FollowCertificate() {
  const std::uint64_t version = tls_->version();
  if (std::exchange(followed_certificate_, version) == version || audit_ == nullptr) return;
  audit_->Add({{.way = "file"}, "TakeCertificate", tls_->material()->name, absl::OkStatus()});
}

void Daemon::FollowList() {
  const std::uint64_t version = tls_->list_version();
  if (version == followed_list_) return;
  followed_list_ = version;
  access_.set_revoked(tls_->revoked());
  if (server_ != nullptr && audit_ != nullptr) {
    audit_->Add({{.way = "file"},
                 "TakeRevocations",
                 fmt::format("{} revoked", tls_->revoked()->size()),
                 absl::OkStatus()});
  }
  if (server_ != nullptr) server_->FollowPolicy();
}

void Daemon::Stop() {
  if (server_ == nullptr) return;
  if (federation_ != nullptr) federation_->Drain();
  if (server_->serving()) server_->Shutdown();
  calibrations_.Stop();
  for (const auto& parent : parents_) {
    const link::UplinkEnd end = parent->end();
    if (const std::uint64_t lost = parent->Stop(kParentDrain); lost > 0) {
      runtime::LogError("lost {}: {}", Counted(lost, "fused slot"),
                        link::WhyLeft(end, config_.parent->aggregator, 1e-3 * kParentDrain.count()));
    }
  }
  if (http_ != nullptr) http_->Stop();
  access_.TellRefused(audit_.get(), true);
  if (!said_what_was_served_) SayWhatWasServed();
  said_what_was_served_ = true;
}

void Daemon::SayWhatWasServed() const {
  const double seconds = 1e-9 * static_cast<double>(clock_.SteadyNs() - started_steady_ns_);
  for (const auto& site : state_.sites.all()) {
    const fusion::FusionCounters counters = site->engine().counters();
    runtime::LogInfo(
        "{}: served {:.1f} s: {}, {} taken, {} refused; {} complete, {} incomplete; {} fused, {} refused",
        site->name(), seconds, Counted(state_.fleet.PresenceIn(site->name()).known, "node"),
        Counted(counters.frames_accepted, "frame"),
        fusion::Sum(counters.frames_refused) + site->refused_on_wire(),
        Counted(counters.slots_complete, "slot"),
        counters.slots_at_deadline + counters.slots_evicted + counters.slots_drained,
        Counted(counters.tuples_fused, "tuple"), fusion::Sum(counters.tuples_refused));
  }
  if (federation_ != nullptr) {
    for (const auto& record : federation_->board().Runs()) {
      const v1::Run& run = record->run;
      runtime::LogInfo("run {}: {} of {} rounds done, {} refused: {}", run.name(), run.committed_rounds(),
                       run.rounds(), Counted(run.refused_updates(), "update"), run.message());
    }
  }
  runtime::LogInfo("aggregator stopped after {:.1f} s", seconds);
}

Daemon::~Daemon() { Stop(); }

}  // namespace tributary::aggregator
