// Certificates as OpenSSL holds them, from PEM text. Included by what checks certificates, not by their
// users.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/status/freed_by.h"

namespace tributary::config {

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Crl = std::unique_ptr<X509_CRL, FreedBy<X509_CRL_free>>;

// A text with more certificates or lists than this is read no further: one takes OpenSSL up to a millisecond.
inline constexpr std::size_t kMostInOneText = 256;

// A longer file is refused: a list of so many bytes has some ten thousand certificates.
inline constexpr std::size_t kMostPemBytes = std::size_t{1} << 20;

// Empty or null unless the whole text parses; one more than kMostInOneText if it has more. No reader asks for
// a password.
std::vector<Certificate> CertificatesIn(std::string_view pem);
std::vector<Crl> CrlsIn(std::string_view pem);
Key KeyIn(std::string_view pem);

// What was written into a memory BIO.
std::string TextIn(const Bio& memory);

// The text of a file of certificates, a key or lists. Errors: InvalidArgument for one of more than
// kMostPemBytes; those of runtime::ReadFile.
absl::StatusOr<std::string> ReadPem(const std::string& path);

// Seconds since 1970. Nothing but a damaged time gives 0.
std::int64_t UnixSeconds(const ASN1_TIME* time);

}  // namespace tributary::config
