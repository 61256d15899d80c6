// The ids of the certificates that peers show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/config/revocation_list.h"
#include "core/runtime/mutex.h"

namespace tributary::access {

// Keeps what it has read, because a peer makes many calls with one certificate. Only certificates of the CA
// come here; it forgets them all when there are very many. Thread-safe.
class CertificateIds {
 public:
  static constexpr std::size_t kMostKept = 16'384;

  // Empty for what is no certificate.
  config::CertificateId IdOf(std::string_view pem) EXCLUDES(mutex_);

 private:
  runtime::Mutex mutex_;
  std::unordered_map<std::string, config::CertificateId> ids_ GUARDED_BY(mutex_);  // by PEM text
};

}  // namespace tributary::access
