#include "node/panel/panel.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/link/spool/reconnect.h"
#include "node/panel/device_metrics.h"

namespace tributary::panel {
namespace {

constexpr link::Backoff::Limits kRestart{100'000'000, 10'000'000'000};
// A panel that ran this long starts again at the shortest delay.
constexpr std::int64_t kRanWellNs = 30'000'000'000;

bool MayPass(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

Panel::Panel(Identity identity, PanelParts parts, OpenPanel open, const runtime::Clock& clock,
             link::TupleSink& sink, runtime::Metrics& metrics)
    : identity_(std::move(identity)),
      open_(std::move(open)),
      clock_(clock),
      sink_(sink),
      parts_(std::move(parts)) {
  udp_.Follow(parts_.source->udp_account());
  AddMetrics(metrics);
}

void Panel::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(std::move(stop)); });
}

void Panel::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

PanelCounters Panel::counters() const {
  return {frames_, surplus_frames_, tuples_, missed_frames_, unusable_tuples_, failed_frames_, restarts_};
}

void Panel::AddMetrics(runtime::Metrics& metrics) {
  const runtime::MetricLabels labels = {{"panel", identity_.name}};
  const auto add = [&](const char* name, const char* help, const std::atomic<std::uint64_t>& count) {
    metrics.AddCounterCallback(name, help, labels, [&count] { return static_cast<double>(count.load()); });
  };
  add("tributary_panel_frames_total", "Frames that the source gave.", frames_);
  add("tributary_panel_surplus_frames_total", "Frames left out: their slot had one already.",
      surplus_frames_);
  add("tributary_panel_tuples_total", "Tuples estimated.", tuples_);
  add("tributary_panel_missed_frames_total", "Frames that the source could not give in time, or not read.",
      missed_frames_);
  add("tributary_panel_unusable_tuples_total", "Tuples left out: not finite or not positive definite.",
      unusable_tuples_);
  add("tributary_panel_failed_frames_total", "Frames lost to an error of the workload.", failed_frames_);
  add("tributary_panel_restarts_total", "Restarts after an error.", restarts_);
  AddDeviceMetrics(metrics, labels, [this] {
    return accelerator::Accelerator::Counters{device_runs_, device_failed_runs_, device_timeouts_,
                                              device_reopened_, device_fallbacks_};
  });
  metrics.AddGaugeCallback("tributary_panel_running", "1 while frames are produced.", labels,
                           [this] { return state_ == PanelState::kRunning ? 1.0 : 0.0; });
  udp_.Register(identity_.name, metrics);
  latency_seconds_ = &metrics.AddHistogram(
      "tributary_panel_latency_seconds", "Time from the capture of a slot to the offer of its tuples.",
      {50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3, 25.6e-3, 0.1, 0.4}, labels);
}

void Panel::Run(std::stop_token stop) {
  link::Backoff backoff(kRestart, std::random_device{}());
  for (;;) {
    const std::int64_t since_ns = clock_.SteadyNs();
    absl::Status status = parts_.source == nullptr ? Reopen() : absl::OkStatus();
    if (status.ok()) {
      state_ = PanelState::kRunning;
      status = Pump(stop);
    }
    if (stop.stop_requested() || status.code() == absl::StatusCode::kOutOfRange) {
      state_ = PanelState::kFinished;
      return;
    }
    if (!MayPass(status.code())) {
      spdlog::error("panel {} has failed and does not restart: {}", identity_.name, status.ToString());
      state_ = PanelState::kFailed;
      return;
    }
    if (clock_.SteadyNs() - since_ns >= kRanWellNs) backoff.Reset();
    const std::int64_t delay_ns = backoff.Next();
    spdlog::warn("panel {} restarts in {} ms: {}", identity_.name, delay_ns / 1'000'000, status.ToString());
    state_ = PanelState::kRestarting;
    ++restarts_;
    earlier_missed_ = missed_frames_;
    earlier_unusable_ = unusable_tuples_;
    if (parts_.workload != nullptr)
      earlier_device_ = earlier_device_ + parts_.workload->accelerator_counters();
    parts_ = {};
    clock_.SleepFor(delay_ns, stop);
  }
}

absl::Status Panel::Reopen() {
  absl::StatusOr<PanelParts> parts = open_();
  if (!parts.ok()) return parts.status();
  parts_ = *std::move(parts);
  udp_.Follow(parts_.source->udp_account());
  if (device_runs_ > 0) ++earlier_device_.reopened;
  return absl::OkStatus();
}

absl::Status Panel::Pump(std::stop_token stop) {
  for (;;) {
    absl::Status status = parts_.source->Next(stop, samples_);
    if (status.ok()) {
      ++frames_;
      if (IsSurplus()) continue;
      status = parts_.workload->Run(samples_, frame_);
      if (!status.ok()) ++failed_frames_;
    }
    CountParts();
    if (!status.ok()) return status;
    last_epoch_ = samples_.epoch;
    if (frame_.subjects.empty()) continue;
    frame_.source = identity_.source_index;
    frame_.revision = 0;
    frame_.dimension = parts_.workload->dimension();
    frame_.contributors.clear();
    tuples_ += frame_.subjects.size();
    const std::int64_t latency_ns = clock_.UnixNs() - frame_.captured_unix_ns;
    sink_.Offer(frame_);
    latency_.Add(latency_ns);
    latency_seconds_->Observe(1e-9 * static_cast<double>(std::max<std::int64_t>(latency_ns, 0)));
  }
}

bool Panel::IsSurplus() {
  if (last_epoch_ != samples_.epoch) return false;
  if (++surplus_frames_ == 1) {
    spdlog::warn(
        "panel {} senses more than once in a slot; the first frame counts, the others are left out and "
        "counted: a shorter slot_ms at node and site would keep them",
        identity_.name);
  }
  return true;
}

void Panel::CountParts() {
  missed_frames_ = earlier_missed_ + parts_.source->missed_frames();
  unusable_tuples_ = earlier_unusable_ + parts_.workload->unusable_tuples();
  CountDevice(earlier_device_ + parts_.workload->accelerator_counters());
}

void Panel::CountDevice(const accelerator::Accelerator::Counters& counters) {
  device_runs_ = counters.runs;
  device_failed_runs_ = counters.failed_runs;
  device_timeouts_ = counters.timeouts;
  device_reopened_ = counters.reopened;
  device_fallbacks_ = counters.fallbacks;
}

}  // namespace tributary::panel
