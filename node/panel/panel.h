// One panel: source → workload → sink, on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/spool/spool.h"
#include "core/runtime/clock.h"
#include "core/runtime/latency.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "node/accelerator/accelerator.h"
#include "node/source/serial.h"
#include "node/source/source.h"
#include "node/source/udp_account.h"
#include "node/workload/workload.h"

namespace tributary::panel {

struct PanelParts {
  std::unique_ptr<source::Source> source;
  std::unique_ptr<workload::Workload> workload;
};

// Creates a panel's source and workload; called again after they have failed.
using OpenPanel = std::function<absl::StatusOr<PanelParts>()>;

enum class PanelState { kRunning, kRestarting, kFinished, kFailed };

struct PanelCounters {
  std::uint64_t frames = 0;
  std::uint64_t surplus_frames = 0;
  std::uint64_t tuples = 0;
  std::uint64_t missed_frames = 0;
  std::uint64_t unusable_tuples = 0;
  std::uint64_t failed_frames = 0;
  std::uint64_t restarts = 0;
  source::BurstCounts unusable_bursts = {};
  accelerator::Accelerator::Counters device;
};

inline constexpr runtime::CountMetric<PanelCounters> kPanelMetrics[] = {
    {"tributary_panel_frames_total", "Frames that the source gave.", &PanelCounters::frames},
    {"tributary_panel_surplus_frames_total", "Frames left out: their slot had one already.",
     &PanelCounters::surplus_frames},
    {"tributary_panel_tuples_total", "Tuples estimated.", &PanelCounters::tuples},
    {"tributary_panel_missed_frames_total", "Frames that the source could not give in time, or not read.",
     &PanelCounters::missed_frames},
    {"tributary_panel_unusable_tuples_total", "Tuples left out: not finite or not positive definite.",
     &PanelCounters::unusable_tuples},
    {"tributary_panel_failed_frames_total", "Frames lost to an error of the workload.",
     &PanelCounters::failed_frames},
    {"tributary_panel_restarts_total", "Restarts after an error.", &PanelCounters::restarts}};

// Counts of a panel's device, and of the one that fuses on the board.
using DeviceCounters = accelerator::Accelerator::Counters;

inline constexpr runtime::CountMetric<DeviceCounters> kDeviceMetrics[] = {
    {"tributary_accelerator_runs_total", "Runs of kernels that were started on a device.",
     &DeviceCounters::runs},
    {"tributary_accelerator_failed_runs_total", "Runs that a device ended with an error.",
     &DeviceCounters::failed_runs},
    {"tributary_accelerator_timeouts_total", "Runs that a device did not end in time.",
     &DeviceCounters::timeouts},
    {"tributary_accelerator_reopened_total", "Times that a device was opened again after a failure.",
     &DeviceCounters::reopened},
    {"tributary_accelerator_fallback_batches_total",
     "Batches that the processor computed because the device failed.", &DeviceCounters::fallbacks},
    {"tributary_accelerator_cycles_total", "Clock cycles that a device reported of its runs.",
     &DeviceCounters::cycles},
    {"tributary_graph_nodes_total", "Nodes of an ONNX graph that were computed, each in each run.",
     &DeviceCounters::nodes},
    {"tributary_graph_delegated_nodes_total", "Nodes of an ONNX graph that the device computed.",
     &DeviceCounters::delegated_nodes},
    {"tributary_graph_products_total", "Multiply-accumulates of an ONNX graph that were computed.",
     &DeviceCounters::products},
    {"tributary_graph_delegated_products_total",
     "Multiply-accumulates of an ONNX graph that the device computed.", &DeviceCounters::delegated_products}};

// Owns the thread and the parts. Offers the first frame of each slot at once. Leaves out and counts further
// frames of the slot: the aggregator would refuse them as duplicates. A source at its end finishes the panel.
// An error that may pass (Unavailable, ResourceExhausted, DeadlineExceeded, Internal, Aborted, Unknown)
// restarts the panel with backoff; any other is final.
class Panel {
 public:
  struct Identity {
    std::string name;
    std::uint32_t source_index;  // in the node's hello
  };

  // `parts`: the first result of `open`. Clock, sink and metrics outlive the panel. The panel outlives the
  // metrics' last reader.
  Panel(Identity identity, PanelParts parts, OpenPanel open, const runtime::Clock& clock,
        link::TupleSink& sink, runtime::Metrics& metrics);

  void Start();
  // Returns once the thread has ended.
  void Stop();
  // Begins it and returns at once, so that many panels stop together.
  void RequestStop();

  // Any thread may call it.
  PanelState state() const { return state_; }
  PanelCounters counters() const;
  // The counts of its datagrams, over all sources that it has opened; empty if its source takes none.
  std::optional<source::UdpCounters> udp_counters() const;
  // The same of its serial line.
  std::optional<source::SerialCounters> serial_counters() const;

  // From the end of a slot's capture to its offer. Call after Stop().
  const runtime::LatencyHistogram& latency() const { return latency_; }

 private:
  void AddMetrics(runtime::Metrics& metrics);
  void AddBurstMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels);
  void AddUdpMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels);
  void AddSerialMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels);
  void Run(std::stop_token stop);
  absl::Status Reopen();
  // Adds the datagrams, or the commands of the serial line, of the open source from now on.
  void FollowAccounts();
  // Runs until the source or the workload fails.
  absl::Status Pump(const std::stop_token& stop);
  absl::Status Step(const std::stop_token& stop);
  // Whether the slot of samples_ has a frame already; counts the surplus frame then.
  bool IsSurplus();
  // With those of the open parts.
  PanelCounters AllCounters() const;
  void Publish();

  const Identity identity_;
  const OpenPanel open_;
  const runtime::Clock& clock_;
  link::TupleSink& sink_;
  runtime::Histogram* latency_seconds_ = nullptr;

  std::atomic<PanelState> state_ = PanelState::kRunning;
  mutable runtime::Mutex mutex_;
  PanelCounters published_ GUARDED_BY(mutex_);
  source::UdpCounters earlier_udp_ GUARDED_BY(mutex_);  // of sources that were replaced
  std::shared_ptr<const source::UdpAccount> udp_ GUARDED_BY(mutex_);
  source::SerialCounters earlier_serial_ GUARDED_BY(mutex_);
  std::shared_ptr<const source::SerialAccount> serial_ GUARDED_BY(mutex_);

  // The panel's thread.
  PanelParts parts_;
  PanelCounters counted_;                      // without those of the open parts
  std::optional<estimate::Epoch> last_epoch_;  // that was estimated
  source::SensorFrame samples_;
  estimate::TupleFrame frame_;
  runtime::LatencyHistogram latency_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::panel
