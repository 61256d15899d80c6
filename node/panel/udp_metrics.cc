#include "node/panel/udp_metrics.h"

#include <utility>

namespace tributary::panel {

void UdpMetrics::Follow(std::shared_ptr<const source::UdpAccount> account) {
  if (account == nullptr) return;
  const runtime::MutexLock lock(mutex_);
  if (account_ != nullptr) earlier_ += account_->counters();
  account_ = std::move(account);
}

bool UdpMetrics::following() const {
  const runtime::MutexLock lock(mutex_);
  return account_ != nullptr;
}

source::UdpCounters UdpMetrics::counters() const {
  const runtime::MutexLock lock(mutex_);
  source::UdpCounters all = earlier_;
  if (account_ != nullptr) all += account_->counters();
  return all;
}

std::uint16_t UdpMetrics::port() const {
  const runtime::MutexLock lock(mutex_);
  return account_ == nullptr ? 0 : account_->port();
}

void UdpMetrics::Register(const std::string& panel, runtime::Metrics& metrics) {
  if (!following()) return;
  const runtime::MetricLabels labels = {{"panel", panel}};
  const auto add = [&](const char* name, const char* help, std::uint64_t source::UdpCounters::*count) {
    metrics.AddCounterCallback(name, help, labels,
                               [this, count] { return static_cast<double>(counters().*count); });
  };
  add("tributary_udp_datagrams_total", "Datagrams received, used or not.", &source::UdpCounters::datagrams);
  add("tributary_udp_lost_subjects_total", "Subjects incomplete when their slot was handed on.",
      &source::UdpCounters::lost_subjects);
  add("tributary_udp_lost_slots_total", "Slots given up: none of their subjects was complete.",
      &source::UdpCounters::lost_slots);
  add("tributary_udp_kernel_drops_total", "Datagrams for which the socket's buffer had no room.",
      &source::UdpCounters::kernel_drops);
  for (std::size_t i = 0; i < source::kUdpFaults; ++i) {
    const auto fault = static_cast<source::UdpFault>(i);
    runtime::MetricLabels with_reason = labels;
    with_reason["reason"] = std::string(source::UdpFaultName(fault));
    metrics.AddCounterCallback("tributary_udp_datagrams_unused_total",
                               "Datagrams received and not used, by reason.", with_reason,
                               [this, fault] { return static_cast<double>(counters().of(fault)); });
  }
  metrics.AddGaugeCallback("tributary_udp_port", "The UDP port that the source is bound to.", labels,
                           [this] { return static_cast<double>(port()); });
}

}  // namespace tributary::panel
