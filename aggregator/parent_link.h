// Sends a site's fused tuples to the parent aggregator, as a node does.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/publish/slot_feed.h"
#include "core/config/live_tls.h"
#include "core/estimate/tuple_frame.h"
#include "core/link/uplink.h"
#include "core/link/uplink_log.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "core/status/macros.h"

namespace tributary::aggregator {

// One source with the node's name; its leaves are the site's. The contributor bits are the same on both
// sides, because the leaves are declared in the site's order. A revision of a slot goes out as a revision of
// its frame. Thread-safe.
class ParentLink final : public publish::SlotSink {
 public:
  // Errors as Uplink::Create.
  static absl::StatusOr<std::shared_ptr<ParentLink>> Create(const ParentSettings& parent,
                                                            const fusion::SiteConfig& site,
                                                            config::TlsSource tls,
                                                            const runtime::Clock& clock,
                                                            runtime::Metrics& metrics) {
    link::UplinkOptions options;
    options.aggregator = parent.aggregator;
    options.tls = std::move(tls);
    options.metric_labels = {{"site", site.name}};  // there is one link per site
    ASSIGN_OR_RETURN(std::unique_ptr<link::Uplink> uplink,
                     link::Uplink::Create(options, HelloOf(parent, site), clock, metrics));
    return std::shared_ptr<ParentLink>(new ParentLink(std::move(uplink)));
  }

  static v1::Hello HelloOf(const ParentSettings& parent, const fusion::SiteConfig& site) {
    v1::Hello hello;
    hello.set_site(site.name);
    hello.set_node(parent.node);
    hello.set_boot_id(wire::NewBootId());
    if (site.classes.empty()) {
      wire::AddSource(hello, parent.node, site.dimension, site.leaves);
    } else {
      wire::AddClassifier(hello, parent.node, site.leaves, site.classes, site.prior);
    }
    hello.set_slot_ns(static_cast<std::uint64_t>(site.slot.ns()));
    return hello;
  }

  void OnSlots(std::span<const estimate::FusedSlot> slots) override {
    // Held during the offer, which does not block: frames of one source go up in order.
    const runtime::MutexLock lock(mutex_);
    for (const estimate::FusedSlot& slot : slots) {
      static_cast<estimate::SlotTuples&>(frame_) = slot;
      uplink_->Offer(frame_);
    }
  }

  link::UplinkEnd end() const { return link::UplinkEnd(*uplink_); }

  // Waits at most this long until the parent has acknowledged what is held; drops and counts the rest.
  // Returns how many slots were dropped.
  std::uint64_t Stop(std::chrono::milliseconds drain) { return uplink_->Stop(drain); }

 private:
  explicit ParentLink(std::unique_ptr<link::Uplink> uplink) : uplink_(std::move(uplink)) {}

  const std::unique_ptr<link::Uplink> uplink_;
  runtime::Mutex mutex_;
  estimate::TupleFrame frame_ GUARDED_BY(mutex_);  // reused
};

}  // namespace tributary::aggregator
