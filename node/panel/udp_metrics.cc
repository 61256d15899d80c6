#include "node/panel/udp_metrics.h"

#include <utility>

namespace tributary {

void UdpMetrics::Follow(std::shared_ptr<const UdpAccount> account) {
  if (account == nullptr) return;
  const MutexLock lock(mutex_);
  if (account_ != nullptr) earlier_ += account_->counters();
  account_ = std::move(account);
}

bool UdpMetrics::following() const {
  const MutexLock lock(mutex_);
  return account_ != nullptr;
}

UdpCounters UdpMetrics::counters() const {
  const MutexLock lock(mutex_);
  UdpCounters all = earlier_;
  if (account_ != nullptr) all += account_->counters();
  return all;
}

std::uint16_t UdpMetrics::port() const {
  const MutexLock lock(mutex_);
  return account_ == nullptr ? 0 : account_->port();
}

void UdpMetrics::Register(const std::string& panel, Metrics& metrics) {
  if (!following()) return;
  const MetricLabels labels = {{"panel", panel}};
  const auto add = [&](const char* name, const char* help, std::uint64_t UdpCounters::*count) {
    metrics.AddCounterCallback(name, help, labels,
                               [this, count] { return static_cast<double>(counters().*count); });
  };
  add("tributary_udp_datagrams_total", "Datagrams received, used or not.", &UdpCounters::datagrams);
  add("tributary_udp_lost_subjects_total", "Subjects incomplete when their slot was handed on.",
      &UdpCounters::lost_subjects);
  add("tributary_udp_lost_slots_total", "Slots given up: none of their subjects was complete.",
      &UdpCounters::lost_slots);
  add("tributary_udp_kernel_drops_total", "Datagrams for which the socket's buffer had no room.",
      &UdpCounters::kernel_drops);
  for (std::size_t i = 0; i < kUdpFaults; ++i) {
    const auto fault = static_cast<UdpFault>(i);
    MetricLabels with_reason = labels;
    with_reason["reason"] = std::string(UdpFaultName(fault));
    metrics.AddCounterCallback("tributary_udp_datagrams_unused_total",
                               "Datagrams received and not used, by reason.", with_reason,
                               [this, fault] { return static_cast<double>(counters().of(fault)); });
  }
  metrics.AddGaugeCallback("tributary_udp_port", "The UDP port that the source is bound to.", labels,
                           [this] { return static_cast<double>(port()); });
}

}  // namespace tributary
