#include "aggregator/parent_link.h"

#include <utility>

namespace tributary {
namespace {

void ToFrame(const FusedSlot& slot, TupleFrame& frame) {
  frame.epoch = slot.epoch;
  frame.captured_unix_ns = slot.captured_unix_ns;
  frame.source = 0;
  frame.revision = slot.revision;
  frame.dimension = slot.dimension;
  frame.subjects = slot.subjects;
  frame.means = slot.means;
  frame.cholesky = slot.cholesky;
  frame.contributors = slot.contributors;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ParentLink>> ParentLink::Create(const ParentSettings& parent,
                                                               const SiteConfig& site,
                                                               const std::optional<TlsMaterial>& tls,
                                                               const Clock& clock, Metrics& metrics) {
  UplinkOptions options;
  options.aggregator = parent.aggregator;
  options.tls = tls;
  options.metric_labels = {{"site", site.name}};  // there is one link per site
  ReportingProcess process;
  process.site = site.name;
  process.node = parent.node;
  process.boot_id = NewBootId();
  process.sources = {{parent.node, site.dimension, site.leaves}};
  process.slot = site.slot;
  absl::StatusOr<std::unique_ptr<Uplink>> uplink = Uplink::Create(options, process, clock, metrics);
  if (!uplink.ok()) return uplink.status();
  return std::shared_ptr<ParentLink>(new ParentLink(*std::move(uplink)));
}

void ParentLink::OnSlots(std::span<const FusedSlot> slots) {
  // Held while offering, which does not block: frames of one source go up in order.
  const MutexLock lock(mutex_);
  for (const FusedSlot& slot : slots) {
    ToFrame(slot, frame_);
    uplink_->Offer(frame_);
  }
}

}  // namespace tributary
