// One site of an aggregator: where frames go, and where their fused slots go.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/fusion/engine.h"
#include "aggregator/publish/slot_feed.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "core/truth/truth.h"
#include "core/wire/convert.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/site.pb.h"

namespace tributary::publish {

// What the configuration tells readers of a site; a reload replaces it.
struct SiteAccount {
  std::optional<v1::Room> room;   // its plan
  truth::Truth truth;             // empty: nobody knows
  truth::Bursts bursts = {};      // empty: its sources are no simulated emitters
  std::size_t ready_sources = 1;  // /readyz?site= answers 200 from so many present ones on; 0: all
};

// Thread-safe, as its parts are.
class Site {
 public:
  // `metrics` outlives it.
  Site(std::unique_ptr<fusion::FusionEngine> engine, std::string model_sha256, runtime::Metrics& metrics);

  const std::string& name() const { return engine_->config().name; }
  fusion::FusionEngine& engine() const { return *engine_; }
  // What its readers are told first.
  const wire::SiteDescription& description() const { return description_; }
  SlotFeed& feed() { return feed_; }
  const SiteBoard& board() const { return board_; }

  // 32 bytes; empty: any model may report.
  std::string model_sha256() const {
    const runtime::MutexLock lock(mutex_);
    return model_sha256_;
  }
  void set_model_sha256(const std::string& digest) {
    const runtime::MutexLock lock(mutex_);
    model_sha256_ = digest;
  }

  // Never null.
  std::shared_ptr<const SiteAccount> account() const {
    const runtime::MutexLock lock(mutex_);
    return account_;
  }
  void set_account(SiteAccount account) {
    auto next = std::make_shared<const SiteAccount>(std::move(account));
    const runtime::MutexLock lock(mutex_);
    account_ = std::move(next);
  }

  void Publish(const fusion::FusedSlots& fused);

  // Frames refused for their structure before the engine saw them.
  void CountRefusedOnWire(v1::RefusalReason reason) { ++refused_on_wire_[reason]; }
  std::uint64_t refused_on_wire() const;
  std::uint64_t refused_on_wire(v1::RefusalReason reason) const { return refused_on_wire_[reason]; }

  // The counts, as metrics.
  void Collect(runtime::Reading& reading) const;

 private:
  const std::unique_ptr<fusion::FusionEngine> engine_;
  const wire::SiteDescription description_;
  mutable runtime::Mutex mutex_;
  std::string model_sha256_ GUARDED_BY(mutex_);
  std::shared_ptr<const SiteAccount> account_ GUARDED_BY(mutex_) = std::make_shared<const SiteAccount>();
  SlotFeed feed_;
  SiteBoard board_;
  runtime::Histogram& latency_;  // from the capture of a slot's earliest contribution to its fusion
  std::array<std::atomic<std::uint64_t>, v1::RefusalReason_ARRAYSIZE> refused_on_wire_ = {};
};

// Sites by name; fixed while the daemon runs.
class SiteTable {
 public:
  // As the constructor of Site. Call before any other thread reads the table.
  Site& Add(std::unique_ptr<fusion::FusionEngine> engine, std::string model_sha256,
            runtime::Metrics& metrics) {
    sites_.push_back(std::make_unique<Site>(std::move(engine), std::move(model_sha256), metrics));
    return *sites_.back();
  }

  const std::vector<std::unique_ptr<Site>>& all() const { return sites_; }
  std::vector<std::string> names() const;
  // Null: unknown. There are few sites, and each stream asks once.
  Site* Find(std::string_view name) const;
  // NotFound; names the known sites.
  absl::Status Unknown(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<Site>> sites_;
};

}  // namespace tributary::publish
