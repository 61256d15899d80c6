#include "aggregator/server/site.h"

namespace tributary::server {

std::string Site::model_sha256() const {
  const runtime::MutexLock lock(mutex_);
  return model_sha256_;
}

void Site::set_model_sha256(std::string digest) {
  const runtime::MutexLock lock(mutex_);
  model_sha256_ = std::move(digest);
}

void Site::Publish(const fusion::FusedSlots& fused) {
  if (fused.empty()) return;
  feed_.Publish(fused.slots());
  for (const estimate::FusedSlot& slot : fused.slots()) {
    if (slot.revision > 0) continue;  // its lateness is the sender's
    latency_.Observe(1e-9 * static_cast<double>(slot.fused_unix_ns - slot.captured_unix_ns));
  }
}

Site* SiteTable::Find(std::string_view name) const {
  for (const std::unique_ptr<Site>& site : sites_) {
    if (site->name() == name) return site.get();
  }
  return nullptr;
}

std::vector<std::string> SiteTable::names() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Site>& site : sites_) names.push_back(site->name());
  return names;
}

}  // namespace tributary::server
