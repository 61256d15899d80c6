// One site for the server: where frames go, and where their fused slots go.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "aggregator/publish/slot_feed.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

// Thread-safe, as its parts are.
class Site {
 public:
  // `latency`: seconds from the capture of a slot's earliest contribution to its fusion.
  Site(std::unique_ptr<fusion::FusionEngine> engine, std::string model_sha256, runtime::Histogram& latency)
      : engine_(std::move(engine)), model_sha256_(std::move(model_sha256)), latency_(latency) {}

  const std::string& name() const { return engine_->config().name; }
  fusion::FusionEngine& engine() { return *engine_; }
  const fusion::FusionEngine& engine() const { return *engine_; }
  publish::SlotFeed& feed() { return feed_; }

  // 32 bytes; empty: any model may report.
  std::string model_sha256() const {
    const runtime::MutexLock lock(mutex_);
    return model_sha256_;
  }
  void set_model_sha256(const std::string& digest) {
    const runtime::MutexLock lock(mutex_);
    model_sha256_ = digest;
  }

  // Publishes the fused slots.
  void Publish(const fusion::FusedSlots& fused) {
    feed_.Publish(fused.slots());
    for (const estimate::FusedSlot& slot : fused.slots()) {
      if (slot.revision > 0) continue;  // its lateness is the sender's
      latency_.Observe(1e-9 * static_cast<double>(slot.fused_unix_ns - slot.captured_unix_ns));
    }
  }

  // Frames refused for their structure before the engine saw them.
  void CountRefusedOnWire(v1::RefusalReason reason) { ++refused_on_wire_[reason]; }
  std::uint64_t refused_on_wire(v1::RefusalReason reason) const { return refused_on_wire_[reason]; }
  std::uint64_t refused_on_wire() const {
    return std::accumulate(refused_on_wire_.begin(), refused_on_wire_.end(), std::uint64_t{0});
  }

 private:
  const std::unique_ptr<fusion::FusionEngine> engine_;
  mutable runtime::Mutex mutex_;
  std::string model_sha256_ GUARDED_BY(mutex_);
  publish::SlotFeed feed_;
  runtime::Histogram& latency_;
  std::array<std::atomic<std::uint64_t>, v1::RefusalReason_ARRAYSIZE> refused_on_wire_ = {};
};

// Sites by name; fixed while the daemon runs.
class SiteTable {
 public:
  explicit SiteTable(std::vector<std::unique_ptr<Site>> sites) : sites_(std::move(sites)) {}

  // Null: unknown. There are few sites, and each stream asks once.
  Site* Find(std::string_view name) const {
    const auto found = std::ranges::find(sites_, name, [](const auto& site) { return site->name(); });
    return found == sites_.end() ? nullptr : found->get();
  }
  const std::vector<std::unique_ptr<Site>>& all() const { return sites_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const std::unique_ptr<Site>& site : sites_) names.push_back(site->name());
    return names;
  }

 private:
  const std::vector<std::unique_ptr<Site>> sites_;
};

}  // namespace tributary::server
