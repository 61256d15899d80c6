#include "aggregator/access/certificate_ids.h"

#include <utility>

namespace tributary::access {

config::CertificateId CertificateIds::IdOf(std::string_view pem) {
  std::string text(pem);
  {
    const runtime::MutexLock lock(mutex_);
    if (const auto kept = ids_.find(text); kept != ids_.end()) return kept->second;
  }
  config::CertificateId id = config::CertificateIdOf(pem).value_or(config::CertificateId());
  const runtime::MutexLock lock(mutex_);
  if (ids_.size() >= kMostKept) ids_.erase(ids_.begin());
  ids_[std::move(text)] = id;
  return id;
}

}  // namespace tributary::access
