#include "aggregator/parent_link.h"

#include <utility>

namespace tributary::aggregator {
namespace {

void ToFrame(const estimate::FusedSlot& slot, estimate::TupleFrame& frame) {
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
                                                               const fusion::SiteConfig& site,
                                                               const std::optional<config::TlsMaterial>& tls,
                                                               const runtime::Clock& clock,
                                                               runtime::Metrics& metrics) {
  link::UplinkOptions options;
  options.aggregator = parent.aggregator;
  options.tls = tls;
  options.metric_labels = {{"site", site.name}};  // there is one link per site
  wire::ReportingProcess process;
  process.site = site.name;
  process.node = parent.node;
  process.boot_id = wire::NewBootId();
  process.sources = {{parent.node, site.dimension, site.leaves}};
  process.slot = site.slot;
  absl::StatusOr<std::unique_ptr<link::Uplink>> uplink =
      link::Uplink::Create(options, process, clock, metrics);
  if (!uplink.ok()) return uplink.status();
  return std::shared_ptr<ParentLink>(new ParentLink(*std::move(uplink)));
}

void ParentLink::OnSlots(std::span<const estimate::FusedSlot> slots) {
  // Held during the offer, which does not block: frames of one source go up in order.
  const runtime::MutexLock lock(mutex_);
  for (const estimate::FusedSlot& slot : slots) {
    ToFrame(slot, frame_);
    uplink_->Offer(frame_);
  }
}

}  // namespace tributary::aggregator
