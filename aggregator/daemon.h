// The aggregator as a whole: sites, gRPC server, HTTP, metrics, parent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "aggregator/server/ingest_server.h"
#include "aggregator/server/site.h"
#include "aggregator/prepare.h"
#include "aggregator/publish/fleet.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary {

class FederationHost;
class HttpServer;
class ParentLink;
class Readiness;
class SiteBoard;

// Main thread. Owns everything; what serves stops before what it serves from.
class Daemon {
 public:
  // Errors: Unavailable (an address that cannot be bound; the message names the key), FailedPrecondition and
  // DataLoss (the store).
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(PreparedAggregator prepared, const Clock& clock);
  ~Daemon();

  // Applies what can change while running: the log level, each site's tuning and model digest. Says in the
  // log what changed in the file and needs a restart. An error leaves everything as it was.
  absl::Status Reload(const AggregatorConfig& config);

  bool healthy() const { return server_->serving(); }
  int port() const { return server_->port(); }
  int http_port() const;

  // Drains: no more is accepted, what waits is fused, acknowledged and sent. Bounded to some seconds.
  void Stop();

 private:
  Daemon(const AggregatorConfig& config, const Clock& clock);
  absl::Status MakeSites();
  absl::Status StartParent(const std::optional<TlsMaterial>& tls);
  absl::Status StartHttp();
  void MakeReadiness();
  void SayWhatWasServed() const;

  AggregatorConfig config_;
  const Clock& clock_;
  Metrics metrics_;
  Fleet fleet_;
  std::unique_ptr<SiteTable> sites_;
  std::vector<std::shared_ptr<SiteBoard>> boards_;
  std::vector<std::shared_ptr<ParentLink>> parents_;
  std::unique_ptr<FederationHost> federation_;
  std::unique_ptr<IngestServer> server_;
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<HttpServer> http_;
  std::int64_t started_steady_ns_ = 0;
  bool said_what_was_served_ = false;
};

}  // namespace tributary
