// The aggregator as a whole: sites, gRPC server, HTTP, metrics, parent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/access/audit_log.h"
#include "aggregator/access/http_access.h"
#include "aggregator/access/live_tokens.h"
#include "aggregator/access/sessions.h"
#include "aggregator/calibration/calibration_keeper.h"
#include "aggregator/config.h"
#include "aggregator/join/certificate_desk.h"
#include "aggregator/prepare.h"
#include "aggregator/publish/aggregator_state.h"
#include "aggregator/server/ingest_server.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace grpc {
class Service;
}

namespace tributary::http {
class HttpServer;
}

namespace tributary::aggregator {

class FederationHost;
class ParentLink;

// Main thread. Owns everything; what serves stops before what it serves from.
class Daemon {
 public:
  // Reads the files that take long; no peer reaches it yet. Errors: FailedPrecondition and DataLoss (the
  // store).
  static absl::StatusOr<std::unique_ptr<Daemon>> Create(PreparedAggregator prepared,
                                                        const runtime::Clock& clock);
  ~Daemon();

  // Opens its ports. Errors: Unavailable (an address that cannot be bound; the message names the key).
  absl::Status Start();

  runtime::Metrics& metrics() { return metrics_; }

  // Applies the settings that can change while running: the log level, each site's tuning and model digest,
  // who may do what, and the files of TLS. An error leaves everything as it was; files of TLS that are at
  // fault leave the certificates as they were (LiveTls).
  absl::Status Reload(const AggregatorConfig& config);
  // Call ten times a second: takes certificates, lists and tokens whose files have changed.
  void FollowFiles();

  bool healthy() const { return server_->serving(); }
  int port() const { return server_->port(); }
  int http_port() const;

  // Drains: accepts nothing more, fuses what waits, acknowledges and sends it. Takes some seconds at most.
  void Stop();

 private:
  Daemon(const AggregatorConfig& config, const runtime::Clock& clock);
  // With their links to the parent.
  absl::Status MakeSites();
  absl::Status StartHttp();
  // Gives the list of revoked certificates in force to those who ask it.
  void FollowList();
  void FollowCertificate();
  // The authority that `config` names, if it is another than the present one. Errors: those of ReadAuthority.
  absl::StatusOr<std::optional<join::Authority>> NextAuthority(const AggregatorConfig& config) const;
  void TakeAuthority(join::Authority authority, const std::string& folder);
  absl::Status OpenAccess(config::TokenSet tokens);
  void Collect(runtime::Reading& reading) const;
  void SayWhatWasServed() const;

  AggregatorConfig config_;
  const runtime::Clock& clock_;
  runtime::Metrics metrics_;
  std::unique_ptr<access::AuditLog> audit_;  // null: none
  access::AccessControl access_;
  std::unique_ptr<access::LiveTokens> tokens_;
  access::Sessions sessions_;
  std::unique_ptr<access::HttpAccess> http_access_;
  std::shared_ptr<config::LiveTls> tls_;  // null: no TLS
  std::uint64_t followed_list_ = 0, followed_certificate_ = 1;
  publish::AggregatorState state_{clock_};
  calibration::CalibrationKeeper calibrations_;
  std::vector<std::shared_ptr<ParentLink>> parents_;
  std::unique_ptr<join::CertificateDesk> desk_;  // null: no authority
  std::unique_ptr<grpc::Service> renewals_;
  std::unique_ptr<FederationHost> federation_;
  std::unique_ptr<server::IngestServer> server_;
  std::unique_ptr<http::HttpServer> http_;
  std::int64_t started_steady_ns_ = 0;
  bool said_what_was_served_ = false;
};

}  // namespace tributary::aggregator
