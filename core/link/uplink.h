// The client of FusionService.Report: takes frames from any thread, and each frame is acknowledged or counted
// as dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/live_tls.h"
#include "core/link/disk_backlog.h"
#include "core/link/refusals.h"
#include "core/link/spool/spool.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/wire/hello.h"

namespace tributary::link {

struct UplinkOptions {
  std::string aggregator;  // "host:port" or "unix:path"
  config::TlsSource tls;   // null: no TLS
  SpoolLimits spool;
  std::optional<DiskBacklogOptions> disk = {};  // unset: frames are kept in memory only
  // A message goes out once this many frames wait, or after 10 ms; 1: at once. A higher number lowers the
  // aggregator's cost and raises the latency by the slots that wait.
  std::size_t frames_per_message = 1;
  runtime::MetricLabels metric_labels;  // labels of all its metrics, for a process with several uplinks
};

enum class UplinkState {
  kConnecting,  // or waiting to try again
  kReporting,   // the aggregator has answered the hello
  kRefused,     // the aggregator refuses this node (see refusal()); tried again slowly
  kStopped,
};
std::string_view UplinkStateName(UplinkState state);

struct UplinkCounters {
  SpoolCounters spool;
  RefusalCounters refusals;
  std::uint64_t messages = 0;     // of frames, written
  std::uint64_t connections = 0;  // hellos answered
  std::optional<DiskBacklogCounters> disk = {};
};

// Owns the spool, the channel and one thread; with a disk, its backlog and another thread.
//
//   any thread      Offer: begins the write itself if none is under way; never blocks on the network
//   own thread      completions, acknowledgements, reconnects
//   main thread     Create, Stop
//
// When the spool is full, it drops its oldest frame and counts it. The uplink replaces a lost stream within
// about a second and sends unacknowledged frames again. When the certificates in force are replaced, the
// stream under way goes on; the next one uses the new certificate, at once if the node was refused. It
// measures time with the steady clock only.
class Uplink : public TupleSink {
 public:
  // Starts to connect. The metrics in `metrics` read this object: it must outlive their last reader.
  // InvalidArgument: no aggregator would accept this hello.
  static absl::StatusOr<std::unique_ptr<Uplink>> Create(UplinkOptions options, v1::Hello hello,
                                                        const runtime::Clock& clock,
                                                        runtime::Metrics& metrics);
  // The destructor is Stop(0). Offer numbers the frame.

  // Takes no more frames, sends the held ones until they are acknowledged or `drain` has passed, puts the
  // rest on the disk or drops and counts it, and ends the threads. Returns how many frames were dropped. A
  // refused node does not wait.
  virtual std::uint64_t Stop(std::chrono::milliseconds drain) = 0;

  // What the node says of itself with the next message; call it about once a second. The uplink adds what it
  // knows of its spool. An aggregator of an earlier release takes no notice.
  virtual void SayStatus(v1::NodeStatus status) = 0;

  virtual UplinkState state() const = 0;
  virtual absl::Status refusal() const = 0;  // the last error of a stream, OK while it is well
  virtual UplinkCounters counters() const = 0;
};

// The metrics of an uplink read its counters when they are scraped. Docs and dashboards use their names.
// Returns the histogram of round trips: write to acknowledgement, s.
runtime::Histogram& AddUplinkMetrics(const Uplink& uplink, const UplinkOptions& options,
                                     runtime::Metrics& metrics);

}  // namespace tributary::link
