#include "aggregator/access/certificate_expiry.h"

#include <grpc/grpc_security_constants.h>

#include <string_view>
#include <vector>

#include "core/config/pem.h"

namespace tributary::access {

std::int64_t CertificateExpiryUnixNs(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> pem = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return 0;
  const std::vector<config::Certificate> certificates =
      config::CertificatesIn(std::string_view(pem.front().data(), pem.front().size()));
  if (certificates.empty()) return 0;
  return config::UnixSeconds(X509_get0_notAfter(certificates.front().get())) * 1'000'000'000;
}

}  // namespace tributary::access
