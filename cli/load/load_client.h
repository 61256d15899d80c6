// Drives an aggregator like N panels, and watches what it makes of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "core/estimate/slot_length.h"
#include "core/runtime/latency.h"

namespace tributary::cli {

struct LoadPlan {
  ConnectionArguments connection;
  std::string site = "load";
  // Sources "panel-0", "panel-1" …, each a node with a connection of its own. With TLS a certificate names
  // one node: it reports all panels, on one connection.
  std::uint32_t panels = 4;
  std::uint32_t users = 16;
  std::size_t frames_per_message = 1;
  estimate::SlotLength slot;  // what the site's epochs count
  double rate_hz = 2000;      // of slots; 0: as fast as acknowledgements permit
  double watch_rate_hz = 0;
};

// Every frame that was sent is in acknowledged (of which some are refused) or was lost; every slot is in
// received or skipped, or was lost.
struct LoadCounts {
  std::uint64_t slots_sent = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_acknowledged = 0;
  std::uint64_t frames_refused = 0;
  std::uint64_t slots_received = 0;
  std::uint64_t slots_incomplete = 0;  // of the received: without some panel
  std::uint64_t slots_skipped = 0;     // as the aggregator says
  std::string first_refusal;
};

// One thread drives all streams: it writes, reads acknowledgements and receives slots. Each panel has a TCP
// connection of its own, the watcher another.
class LoadClient {
 public:
  // Connects, says hello on every stream and starts to watch. Errors: those of LoadClientTls and FromPeer.
  static absl::StatusOr<std::unique_ptr<LoadClient>> Connect(const LoadPlan& plan);
  virtual ~LoadClient() = default;

  // Sends for the given time, then waits until all is acknowledged and received, at most two seconds. Appends
  // to `latency`: from the stamp of a slot, taken before its first frame is written, to its receipt by the
  // watcher. Unavailable: a stream broke.
  virtual absl::Status Run(std::chrono::nanoseconds duration, runtime::LatencyHistogram& latency) = 0;

  virtual LoadCounts counts() const = 0;
  virtual std::size_t message_bytes() const = 0;
};

}  // namespace tributary::cli
