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
// come here, with some 1.2 kB of text each; when there are many it forgets one for each new one. Thread-safe.
class CertificateIds {
 public:
  static constexpr std::size_t kMostKept = 2048;

  // Empty for what is no certificate.
  config::CertificateId IdOf(std::string_view pem) EXCLUDES(mutex_);

 private:
  runtime::Mutex mutex_;
  std::unordered_map<std::string, config::CertificateId> ids_ GUARDED_BY(mutex_);  // by PEM text
};

}  // namespace tributary::access
