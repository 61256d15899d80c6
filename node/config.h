// What tributary-node reads from its configuration file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/config/tls.h"
#include "core/estimate/slot_length.h"
#include "core/link/spool/spool.h"
#include "node/certificate_renewal.h"
#include "node/learner/federation_config.h"
#include "node/panel/panel_config.h"

namespace tributary::node {

// [fusion]: one fused tuple per subject is shipped instead of one per panel.
struct FusionConfig {
  std::string name;  // of the source
  accelerator::AcceleratorConfig accelerator;
  double deadline_ms = 0;  // how long a slot waits for the slower panels
};

struct NodeConfig {
  std::string node;           // equals the certificate's name where TLS is on
  std::string site;           // may be empty where there are no panels
  estimate::SlotLength slot;  // the site's
  std::string log_level = "info";
  std::string aggregator = "127.0.0.1:7400";
  link::SpoolLimits spool;
  std::optional<link::DiskBacklogOptions> disk;  // unset: frames are kept in memory only
  std::size_t frames_per_message = 1;
  double drain_s = 5;  // how long a stopping node waits for acknowledgements
  std::optional<config::TlsFiles> tls;
  RenewalSettings renewal;
  std::string http_listen;                 // empty: no HTTP
  std::vector<panel::PanelConfig> panels;  // may be empty where there is a federation
  std::optional<FusionConfig> fusion;
  std::optional<learner::FederationConfig> federation;
};

// Whom a node asks to renew its certificate, and to tell who it is: where it reports, or where it only
// learns.
const std::string& HomeOf(const NodeConfig& config);

// Resolves relative paths of files against the folder of `file`. Records its faults in `file`, whose Finish()
// tells them.
NodeConfig ReadNodeConfig(const config::ConfigFile& file);

}  // namespace tributary::node
