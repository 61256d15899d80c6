// A source and a reader inside the test's process, for tests that choose every tuple themselves.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/config/tls.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"
#include "core/link/channel.h"
#include "core/link/uplink.h"
#include "core/link/watcher.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::testing {

inline std::string Address(int port) { return "127.0.0.1:" + std::to_string(port); }

// Reports as one panel of the site "room" to one aggregator: positions, or the probabilities of `classes`.
class Reporter {
 public:
  Reporter(const std::string& panel, int port, std::optional<config::TlsMaterial> tls = std::nullopt,
           const std::vector<std::string>& classes = {}) {
    v1::Hello hello;
    hello.set_site("room");
    hello.set_node("node-" + panel);
    hello.set_boot_id(wire::NewBootId());
    if (classes.empty()) {
      wire::AddSource(hello, panel, 2, {panel});
    } else {
      wire::AddClassifier(hello, panel, {panel}, classes, {});
    }
    link::UplinkOptions options;
    options.aggregator = Address(port);
    if (tls) options.tls = config::LiveTls::Fixed(*std::move(tls));
    uplink_ = *link::Uplink::Create(options, hello, clock_, metrics_);
  }
  ~Reporter() { uplink_->Stop(std::chrono::seconds(5)); }

  void Offer(estimate::TupleFrame frame) { uplink_->Offer(frame); }
  bool Reporting() const { return uplink_->state() == link::UplinkState::kReporting; }
  link::UplinkState state() const { return uplink_->state(); }
  absl::Status refusal() const { return uplink_->refusal(); }

 private:
  runtime::SystemClock clock_;
  runtime::Metrics metrics_;
  std::unique_ptr<link::Uplink> uplink_;
};

// Collects the slots of one aggregator by epoch, the latest revision of each.
class Collector {
 public:
  explicit Collector(int port)
      : thread_([this, port](std::stop_token stop) {
          status_ = link::WatchSlots(
              link::MakeChannel(Address(port), std::nullopt), {"room", 0}, stop,
              [this](const wire::WatchedSlot& slot, const wire::SiteDescription& site) {
                const runtime::MutexLock lock(mutex_);
                slots_[slot.epoch] = slot;
                length_ = site.slot;
              },
              [](const absl::Status&) {});
        }) {}

  // What epochs count.
  estimate::SlotLength length() const {
    const runtime::MutexLock lock(mutex_);
    return length_;
  }
  std::map<estimate::Epoch, wire::WatchedSlot> slots() const {
    const runtime::MutexLock lock(mutex_);
    return slots_;
  }

  // Whether a slot of this epoch has arrived with these contributors of its first subject.
  bool Has(estimate::Epoch epoch, std::uint64_t contributors) const {
    const runtime::MutexLock lock(mutex_);
    const auto found = slots_.find(epoch);
    return found != slots_.end() && found->second.contributors.at(0) == contributors;
  }

 private:
  mutable runtime::Mutex mutex_;
  std::map<estimate::Epoch, wire::WatchedSlot> slots_ GUARDED_BY(mutex_);
  estimate::SlotLength length_ GUARDED_BY(mutex_);
  absl::Status status_;
  std::jthread thread_;
};

// One subject at `x`, of unit covariance.
inline estimate::TupleFrame UnitFrame(estimate::Epoch epoch, float x = 0) {
  estimate::TupleFrame frame;
  frame.epoch = epoch;
  frame.captured_unix_ns = estimate::SlotLength().StartNs(epoch);
  frame.subjects = {1};
  frame.means = {x, 0};
  frame.cholesky = {1, 0, 1};
  return frame;
}

}  // namespace tributary::testing
