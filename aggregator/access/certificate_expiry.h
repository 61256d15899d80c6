// When the certificate behind a call expires.
#pragma once

#include <grpcpp/security/auth_context.h>

#include <cstdint>

namespace tributary::access {

// 0: no TLS. Parses the certificate, which takes some 0.1 ms.
std::int64_t CertificateExpiryUnixNs(const grpc::AuthContext& context);

}  // namespace tributary::access
