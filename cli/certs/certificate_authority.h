// A small certificate authority for tests, demos and closed networks: EC P-256, SHA-256.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/status/freed_by.h"

namespace tributary::cli {

struct CertificateAndKey {
  std::unique_ptr<X509, FreedBy<X509_free>> certificate;
  std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>> key;
};

// InvalidArgument for a name that is no file or host name, or an address that is neither an IP address nor a
// host name.
absl::Status CheckCertificateName(const std::string& name, const std::vector<std::string>& addresses);

inline constexpr char kThereAlready[] = "there already";

// Owns the authority's key and certificate. One thread's.
class CertificateAuthority {
 public:
  // Reads ca.pem and ca.key from `folder`, or makes them there. Errors: InvalidArgument for files that are
  // not a certificate and its key; as ReadFile.
  static absl::StatusOr<CertificateAuthority> Open(const std::string& folder);

  // Makes NAME.pem and NAME.key in `folder`, for a server and a client that is called NAME, reached as NAME,
  // localhost, on the loopback or at one of `addresses` (IP addresses or host names); valid for two years.
  // Leaves files alone that verify, hold these addresses and stay valid for 30 days. Returns what it did:
  // kThereAlready, "made", or "made again" with the reason. Errors: InvalidArgument as CheckCertificateName;
  // as WriteOutput.
  absl::StatusOr<std::string> Issue(const std::string& folder, const std::string& name,
                                    const std::vector<std::string>& addresses = {}) const;

  bool made() const { return made_; }

 private:
  CertificateAuthority(CertificateAndKey own, bool made) : own_(std::move(own)), made_(made) {}
  static absl::StatusOr<CertificateAuthority> Make(const std::string& certificate_path,
                                                   const std::string& key_path);
  // What Issue is to do, as it returns it.
  std::string Judge(const std::string& certificate_path, const std::string& key_path,
                    const std::vector<std::string>& addresses) const;

  CertificateAndKey own_;
  bool made_;
};

}  // namespace tributary::cli
