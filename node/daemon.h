// A node: its panels, its uplink, what it learns, its metrics.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "core/runtime/http_server.h"
#include "core/runtime/metrics.h"
#include "core/uplink/uplink.h"
#include "node/board_fusion.h"
#include "node/config.h"
#include "node/learner.h"
#include "node/panel.h"

namespace tributary {

// What a node needs besides its configuration: certificates and models. InvalidArgument with one line per
// fault.
absl::Status CheckFiles(const NodeConfig& config);

// Owns everything that runs. The main thread's.
class Daemon {
 public:
  // Loads the models, opens the sources and begins to connect. Errors name the file or panel, and the remedy.
  static absl::StatusOr<std::unique_ptr<Daemon>> Create(const NodeConfig& config, const Clock& clock);

  // Starts the panels and the HTTP side. Unavailable: its port cannot be bound.
  absl::Status Start();

  // Every panel has ended, and there is nothing to learn.
  bool finished() const;
  // A panel has failed for good.
  bool failed() const;

  // Ends the panels, waits for acknowledgements for as long as the configuration says, and counts what was
  // left.
  void Stop();

  // What became of every frame and tuple, as one line of JSON. After Stop().
  std::string Summary() const;

 private:
  Daemon(const NodeConfig& config, const Clock& clock);
  absl::Status Open(const NodeConfig& config);
  absl::Status OpenPanels(const NodeConfig& config, const std::optional<TlsMaterial>& tls);
  absl::Status OpenLearner(const NodeConfig& config, const std::optional<TlsMaterial>& tls);
  HttpResponse Ready() const;
  // The sources of the hello: the panels, or what is fused from them.
  static std::vector<ReportingSource> Sources(const NodeConfig& config, const std::vector<PanelParts>& parts);
  void AddRoutes();

  const Clock& clock_;
  const std::string node_;
  const std::string site_;
  const double drain_s_;
  const std::string http_listen_;
  Metrics metrics_;
  std::unique_ptr<Uplink> uplink_;       // none without panels
  std::unique_ptr<BoardFusion> fusion_;  // none: every panel reports for itself
  std::vector<std::unique_ptr<Panel>> panels_;
  std::unique_ptr<Learner> learner_;  // none without [federation]
  HttpServer http_;                   // last: its handlers read everything above
};

}  // namespace tributary
