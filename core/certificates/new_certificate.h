// Certificates and keys as a small certificate authority makes them: EC P-256, SHA-256.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/config/pem.h"

namespace tributary::certificates {

// What others may use a certificate for. A command, a node or an operator connects: a client. An aggregator
// is connected to: a server, and both if it has a parent.
enum class CertificateUse { kClient, kServer, kServerAndClient };

struct CertificateRequest {
  std::string name;
  CertificateUse use = CertificateUse::kClient;
  std::vector<std::string> addresses = {};  // of a server: IP addresses or host names
};

struct CertificateAndKey {
  config::Certificate certificate;
  config::Key key;
};

// Whether a certificate may have this name, which is also the name of its file: 1 to 63 letters, digits, '-',
// '_' or '.', and not "ca".
bool IsCertificateName(std::string_view name);

config::Key NewKey();

// An authority's own certificate and key, under a name that no other has. Internal: OpenSSL cannot make it.
absl::StatusOr<CertificateAndKey> MakeAuthority(std::int64_t lifetime_s);

// A certificate of the public key, signed by the authority, valid from an hour ago: for clocks that are not
// quite together. A server's also holds its name, localhost and the loopback. Internal: OpenSSL cannot make
// it.
absl::StatusOr<config::Certificate> MakeCertificate(const CertificateRequest& request, EVP_PKEY& public_key,
                                                    std::int64_t lifetime_s,
                                                    const CertificateAndKey& authority);

// Both are null unless they belong together.
CertificateAndKey PairOf(std::string_view certificate_pem, std::string_view key_pem);

std::string PemOf(const X509& certificate);
std::string PemOf(const EVP_PKEY& key);  // without a password

// SHA-256 of the certificate as DER, in hexadecimal digits.
std::string Fingerprint(const X509& certificate);
// SHA-256 of the public key (SubjectPublicKeyInfo).
std::string Fingerprint(const EVP_PKEY& key);

}  // namespace tributary::certificates
