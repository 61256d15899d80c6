#include "cli/certificate_expiry.h"

#include "core/config/live_tls.h"

namespace tributary::cli {

std::vector<std::string> ExpiryWarnings(const ConnectionArguments& connection,
                                        const std::string& aggregator_pem, std::int64_t now_unix_s) {
  std::vector<std::string> warnings;
  const auto check = [&](const std::string& whose, std::int64_t expires_unix_s) {
    const std::string warning = config::ExpiryWarning(expires_unix_s, now_unix_s);
    if (!warning.empty()) warnings.push_back(whose + " " + warning);
  };
  const auto own = LoadClientTls(connection.tls);
  if (!own.ok() || !*own) return warnings;
  check(connection.tls.certificate, (*own)->expires_unix_s);
  check(connection.tls.ca, (*own)->ca_expires_unix_s);
  const absl::StatusOr<std::int64_t> theirs = config::CertificateExpiry(aggregator_pem);
  if (theirs.ok()) check("the certificate of " + connection.aggregator, *theirs);
  return warnings;
}

}  // namespace tributary::cli
