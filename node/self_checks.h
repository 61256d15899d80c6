// What a node finds out about its own machine while it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "node/checks/check_report.h"
#include "node/config.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::node {

// The checks of `tributary doctor` that need no aggregator and do not disturb a board that works: clock,
// disk, memory, the board's device node, certificates. The main thread's: each check reads the system's
// files. Where they lie on a dead network drive, that thread waits with them.
class SelfChecks {
 public:
  // The clock outlives it. `tls` is null without TLS.
  SelfChecks(const NodeConfig& config, config::TlsSource tls, const runtime::Clock& clock);

  // Checks at its first call and once a minute, and logs what has become worse.
  void Tick();
  // The latest results.
  void AddTo(v1::NodeStatus& status) const;

 private:
  checks::CheckReport Check() const;

  const config::TlsSource tls_;
  const runtime::Clock& clock_;
  bool reports_slots_ = false;
  estimate::SlotLength slot_;
  bool needs_board_ = false;
  std::string renewed_certificate_;   // empty: this node renews none
  std::vector<std::string> folders_;  // whose disks must have room
  checks::CheckReport report_;
  std::int64_t checked_unix_ns_ = 0;
  std::int64_t next_steady_ns_ = 0;
};

}  // namespace tributary::node
