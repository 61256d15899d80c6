// A node: its panels, its uplink, its learner, its metrics.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/live_tls.h"
#include "core/http/http_server.h"
#include "core/link/uplink.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "node/certificate_renewal.h"
#include "node/config.h"
#include "node/learner/learner.h"
#include "node/learner/training_board.h"
#include "node/panel/board_fusion.h"
#include "node/panel/panel.h"
#include "node/prepare.h"
#include "node/retraining/beacon_retrainer.h"
#include "node/self_checks.h"

namespace tributary::node {

// Owns everything that runs. The main thread's.
class Daemon {
 public:
  // Binds the sources' ports, opens the boards and starts to connect. Errors name the panel and the remedy.
  static absl::StatusOr<std::unique_ptr<Daemon>> Create(PreparedNode prepared, const runtime::Clock& clock);

  // Starts the panels and the HTTP side. Unavailable: its port cannot be bound; the message names the key.
  absl::Status Start();

  runtime::Metrics& metrics() { return metrics_; }

  // SIGHUP: takes the files of TLS as they are now. Files that are at fault leave the certificates as they
  // were (LiveTls).
  void Reload(const NodeConfig& config);
  // Call ten times a second: takes certificates whose files have changed, renews the one that expires,
  // checks the machine, and tells the aggregator once a second how this node is.
  void Tick();

  // Every panel has ended, and there is no learner.
  bool finished() const;
  // A panel has failed for good.
  bool failed() const;

  // Ends the panels, waits for acknowledgements as long as the configuration says, and counts the rest.
  void Stop();

  // The final account of every frame and tuple. Call after Stop().
  //
  // One line of JSON. From the panels: frames (of the sources), tuples (offered), missed_frames,
  // unusable_tuples, failed_frames, restarts, latency_us {p50, p99} from capture to offer. From the uplink:
  // sent_frames (repetitions included), acknowledged_*, dropped_*, refused_* by reason, resent_duplicate_*
  // (repetitions that had arrived before: not lost), connections. tuples = acknowledged_tuples +
  // dropped_tuples; lost_tuples = dropped + refused. With [fusion] also its counters:
  // fusion.tuples replace the panels' tuples in that sum, and the panels' latency ends at the fusion. If a
  // panel takes datagrams, `udp` has datagrams (received), unused_datagrams, the same by reason,
  // lost_subjects, lost_slots, kernel_drops. With spool_dir recovered_tuples, of an earlier process, join the
  // left side of that sum, and stored_tuples, left for the next process, the right one. With [federation]
  // also the results of its rounds, with [panel.retraining] `retraining` by panel.
  std::string Summary() const;

 private:
  Daemon(NodeConfig config, const runtime::Clock& clock);
  absl::Status OpenPanels(PreparedNode prepared);
  void OpenRetraining(const PreparedNode& prepared);
  void OpenRenewal();
  absl::Status OpenLearner(PreparedNode& prepared);
  http::HttpResponse Ready() const;
  // Why the node cannot do what it is asked to.
  std::vector<std::string> Problems() const;
  // The sources: the panels, or their fusion.
  // All panels run one model: they give positions, or the probabilities of these classes.

  const runtime::Clock& clock_;
  const NodeConfig config_;
  const std::int64_t started_unix_ns_;
  std::string xclbin_uuid_;  // of the first board; empty: no board
  std::int64_t next_status_steady_ns_ = 0;
  runtime::Metrics metrics_;
  std::shared_ptr<config::LiveTls> tls_;         // null: no TLS
  std::unique_ptr<CertificateRenewal> renewal_;  // null: off
  std::unique_ptr<SelfChecks> checks_;
  std::unique_ptr<link::Uplink> uplink_;        // none without panels
  std::unique_ptr<panel::BoardFusion> fusion_;  // none: every panel reports for itself
  std::vector<std::unique_ptr<panel::Panel>> panels_;
  std::map<std::string, std::unique_ptr<retraining::BeaconRetrainer>> retrainers_;  // by panel
  std::unique_ptr<learner::TrainingBoard> training_board_;  // none: the processor trains
  std::unique_ptr<learner::Learner> learner_;               // none without [federation]
  http::HttpServer http_;                                   // last: its handlers read everything above
};

}  // namespace tributary::node
