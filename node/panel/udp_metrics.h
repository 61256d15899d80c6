// The account of a panel's datagrams, over all sources that it has opened, as metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "node/source/udp_account.h"

namespace tributary::panel {

// Thread-safe. Counts only grow: those of a replaced source stay in the sum.
class UdpMetrics {
 public:
  // Adds this source's datagrams from now on. Null: the source takes none, nothing changes.
  void Follow(std::shared_ptr<const source::UdpAccount> account);
  // No effect if no source is followed. This object outlives the metrics' last reader.
  void Register(const std::string& panel, runtime::Metrics& metrics);

  bool following() const;
  source::UdpCounters counters() const;

 private:
  std::uint16_t port() const;

  mutable runtime::Mutex mutex_;
  source::UdpCounters earlier_ GUARDED_BY(mutex_);
  std::shared_ptr<const source::UdpAccount> account_ GUARDED_BY(mutex_);
};

}  // namespace tributary::panel
