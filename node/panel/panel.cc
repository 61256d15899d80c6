#include "node/panel/panel.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "core/link/spool/reconnect.h"
#include "core/radio/burst.h"
#include "core/runtime/elapsed.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"

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
  FollowAccounts();
  AddMetrics(metrics);
}

void Panel::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(std::move(stop)); });
}

void Panel::RequestStop() { thread_.request_stop(); }

void Panel::Stop() { thread_ = {}; }

PanelCounters Panel::counters() const {
  const runtime::MutexLock lock(mutex_);
  return published_;
}

std::optional<source::UdpCounters> Panel::udp_counters() const {
  const runtime::MutexLock lock(mutex_);
  if (udp_ == nullptr) return std::nullopt;
  source::UdpCounters all = earlier_udp_;
  return all += udp_->counters();
}

std::optional<source::SerialCounters> Panel::serial_counters() const {
  const runtime::MutexLock lock(mutex_);
  if (serial_ == nullptr) return std::nullopt;
  source::SerialCounters all = earlier_serial_;
  return all += serial_->counters();
}

void Panel::FollowAccounts() {
  auto udp = parts_.source->udp_account();
  auto serial = parts_.source->serial_account();
  const runtime::MutexLock lock(mutex_);
  if (udp != nullptr) {
    if (udp_ != nullptr) earlier_udp_ += udp_->counters();
    udp_ = std::move(udp);
  }
  if (serial != nullptr) {
    if (serial_ != nullptr) earlier_serial_ += serial_->counters();
    serial_ = std::move(serial);
  }
}

void Panel::AddMetrics(runtime::Metrics& metrics) {
  const runtime::MetricLabels labels = {{"panel", identity_.name}};
  metrics.AddCounts<PanelCounters>(
      labels, [this] { return counters(); }, kPanelMetrics);
  metrics.AddCounts<DeviceCounters>(
      labels, [this] { return counters().device; }, kDeviceMetrics);
  if (udp_counters()) AddUdpMetrics(metrics, labels);
  if (serial_counters()) AddSerialMetrics(metrics, labels);
  if (parts_.source->unusable_bursts()) AddBurstMetrics(metrics, labels);
  metrics.AddGaugeCallback("tributary_panel_running", "1 while frames are produced.", labels,
                           [this] { return state_ == PanelState::kRunning ? 1.0 : 0.0; });
  latency_seconds_ = &metrics.AddHistogram(
      "tributary_panel_latency_seconds", "Time from the capture of a slot to the offer of its tuples.",
      {50e-6, 100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3, 6.4e-3, 12.8e-3, 25.6e-3, 0.1, 0.4}, labels);
}

void Panel::AddBurstMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels) {
  metrics.AddCollector([this, labels](runtime::Reading& reading) {
    reading.Reasons("tributary_panel_unusable_bursts_total", "Bursts of I/Q samples left out, by reason.",
                    labels, counters().unusable_bursts, radio::BurstFaultName);
  });
}

void Panel::AddSerialMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels) {
  using Counts = serial::SessionCounters;
  const auto read = [this] { return serial_counters().value_or(source::SerialCounters()).session; };
  metrics.AddCounts<Counts>(
      labels, read,
      {{"tributary_serial_inputs_total", "Inputs that the line's master let the board compute.",
        &Counts::computed_inputs},
       {"tributary_serial_weight_updates_total", "Layers whose weights the master set.",
        &Counts::weight_updates},
       {"tributary_serial_retrainings_total", "Retrainings whose weights the board took.",
        &Counts::retrainings},
       {"tributary_serial_kept_weights_total", "Retrainings that were no better: the old weights stay.",
        &Counts::kept_weights},
       {"tributary_serial_ignored_bytes_total", "Bytes between a fault and the next command.",
        &Counts::ignored_bytes}});
  const auto refused = [&](const char* reason, std::uint64_t Counts::*count) {
    runtime::MetricLabels with_reason = labels;
    with_reason["reason"] = reason;
    metrics.AddCounterCallback("tributary_serial_refused_commands_total",
                               "Commands that were refused, by reason.", with_reason,
                               [read, count] { return read().*count; });
  };
  refused("noise", &Counts::noise);
  refused("out_of_range", &Counts::out_of_range);
  refused("timeout", &Counts::timeouts);
  refused("board", &Counts::refused);
  const auto line = [&](const char* name, const char* help, std::uint64_t source::SerialCounters::*count) {
    metrics.AddCounterCallback(name, help, labels, [this, count] {
      return static_cast<double>(serial_counters().value_or(source::SerialCounters()).*count);
    });
  };
  line("tributary_serial_lost_lines_total", "Times that the line's device vanished.",
       &source::SerialCounters::lost_lines);
  line("tributary_serial_unsent_replies_total", "Replies lost because the line took nothing for a second.",
       &source::SerialCounters::unsent_replies);
}

void Panel::AddUdpMetrics(runtime::Metrics& metrics, const runtime::MetricLabels& labels) {
  using Counters = source::UdpCounters;
  const auto read = [this] { return udp_counters().value_or(Counters()); };
  metrics.AddCounts<Counters>(
      labels, read,
      {{"tributary_udp_datagrams_total", "Datagrams received, used or not.", &Counters::datagrams},
       {"tributary_udp_lost_subjects_total", "Subjects incomplete when their slot was handed on.",
        &Counters::lost_subjects},
       {"tributary_udp_lost_slots_total", "Slots given up: none of their subjects was complete.",
        &Counters::lost_slots},
       {"tributary_udp_kernel_drops_total", "Datagrams for which the socket's buffer had no room.",
        &Counters::kernel_drops}});
  metrics.AddCollector([read, labels](runtime::Reading& reading) {
    reading.Reasons("tributary_udp_datagrams_unused_total", "Datagrams received and not used, by reason.",
                    labels, read().unused, source::UdpFaultName);
  });
  metrics.AddGaugeCallback("tributary_udp_port", "The UDP port that the source is bound to.", labels, [this] {
    const runtime::MutexLock lock(mutex_);
    return udp_->port();
  });
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
      runtime::LogError("panel {} has failed and does not restart: {}", identity_.name, status.ToString());
      state_ = PanelState::kFailed;
      return;
    }
    if (clock_.SteadyNs() - since_ns >= kRanWellNs) backoff.Reset();
    const std::int64_t delay_ns = backoff.Next();
    runtime::LogWarning("panel {} restarts in {} ms: {}", identity_.name, delay_ns / 1'000'000,
                        status.ToString());
    state_ = PanelState::kRestarting;
    counted_ = AllCounters();
    ++counted_.restarts;
    parts_ = {};
    Publish();
    clock_.SleepFor(delay_ns, stop);
  }
}

absl::Status Panel::Reopen() {
  ASSIGN_OR_RETURN(parts_, open_());
  FollowAccounts();
  if (counted_.device.runs > 0) ++counted_.device.reopened;
  return absl::OkStatus();
}

absl::Status Panel::Pump(const std::stop_token& stop) {
  for (;;) {
    const absl::Status status = Step(stop);
    Publish();
    if (!status.ok()) return status;
  }
}

absl::Status Panel::Step(const std::stop_token& stop) {
  RETURN_IF_ERROR(parts_.source->Next(stop, samples_));
  ++counted_.frames;
  if (IsSurplus() || samples_.subjects.empty()) return absl::OkStatus();
  if (absl::Status status = parts_.workload->Run(samples_, frame_); !status.ok()) {
    ++counted_.failed_frames;
    return status;
  }
  last_epoch_ = samples_.epoch;
  if (frame_.subjects.empty()) return absl::OkStatus();
  frame_.source = identity_.source_index;
  frame_.revision = 0;
  counted_.tuples += frame_.subjects.size();
  const std::int64_t latency_ns = runtime::ElapsedNs(frame_.captured_unix_ns, clock_.UnixNs());
  sink_.Offer(frame_);
  latency_.Add(latency_ns);
  latency_seconds_->Observe(1e-9 * static_cast<double>(std::max<std::int64_t>(latency_ns, 0)));
  return absl::OkStatus();
}

bool Panel::IsSurplus() {
  if (last_epoch_ != samples_.epoch) return false;
  if (++counted_.surplus_frames == 1) {
    runtime::LogWarning(
        "panel {} senses more than once in a slot; the first frame counts, the others are left out and "
        "counted: a shorter slot_ms at node and site would keep them",
        identity_.name);
  }
  return true;
}

PanelCounters Panel::AllCounters() const {
  PanelCounters all = counted_;
  if (parts_.source == nullptr) return all;
  all.missed_frames += parts_.source->missed_frames();
  std::ranges::transform(all.unusable_bursts,
                         parts_.source->unusable_bursts().value_or(source::BurstCounts{}),
                         all.unusable_bursts.begin(), std::plus());
  all.unusable_tuples += parts_.workload->unusable_tuples();
  all.device = all.device + parts_.workload->accelerator_counters();
  return all;
}

void Panel::Publish() {
  const PanelCounters all = AllCounters();
  const runtime::MutexLock lock(mutex_);
  published_ = all;
}

}  // namespace tributary::panel
