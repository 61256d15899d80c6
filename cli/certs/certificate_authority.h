// A small certificate authority for tests, demos and closed networks: EC P-256, SHA-256.
#pragma once

#include <openssl/x509.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/certificates/new_certificate.h"

namespace tributary::cli {

using certificates::CertificateAndKey;
using certificates::CertificateRequest;
using certificates::CertificateUse;

// InvalidArgument for a name that is no file name, or of a server no host name; an address that is neither an
// IP address nor a host name; or an address of a client.
absl::Status CheckRequest(const CertificateRequest& request);

inline constexpr char kThereAlready[] = "there already";

// A folder with ca.pem and ca.key, NAME.pem and NAME.key of each certificate, issued.txt (IssueRecord) and
// crl.pem, if any is revoked. One thread's.
class CertificateAuthority {
 public:
  // Reads ca.pem and ca.key from `folder`, or makes them there. Errors: InvalidArgument for files that are
  // not a certificate and its key; as ReadFile.
  static absl::StatusOr<CertificateAuthority> Open(const std::string& folder);
  // Only reads: NotFound if they are absent.
  static absl::StatusOr<CertificateAuthority> OpenExisting(const std::string& folder);

  // What is to be said of issued.txt before anything is made, usually empty. Errors: as IssueRecord::Read.
  absl::StatusOr<std::string> RecordWarning() const;

  // FailedPrecondition: NAME.pem is a valid certificate with a use that the requested one would not have.
  // Whoever works with it would lose it.
  absl::Status CheckUse(const CertificateRequest& request) const;

  // Makes NAME.pem and NAME.key, for this use; valid for two years. A server's holds NAME, localhost, the
  // loopback and the addresses. Leaves files alone that verify, have the use, hold the addresses, are not
  // revoked and stay valid for 30 days. A server's that is made again keeps its earlier addresses. Returns
  // what it did: kThereAlready, "made", or "made again" with the reason and what became of the addresses.
  // Errors: as CheckRequest, CheckUse, IssueRecord and WriteOutput.
  absl::StatusOr<std::string> Issue(const CertificateRequest& request) const;

  // Makes crl.pem again, valid for a year, with every certificate that the names have ever had. Returns how
  // many certificates it added for each name. Without names it only renews the list. Errors: NotFound for a
  // name without certificates, then nothing is written; InvalidArgument for a list of another CA.
  absl::StatusOr<std::vector<std::size_t>> Revoke(const std::vector<std::string>& names) const;

  bool made() const { return made_; }

 private:
  CertificateAuthority(std::string folder, CertificateAndKey own, bool made)
      : folder_(std::move(folder)), own_(std::move(own)), made_(made) {}
  static absl::StatusOr<CertificateAuthority> Make(const std::string& folder);
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }
  // What Issue is to do, as it returns it. `present`: the certificate that is there, null if none fits its
  // key.
  std::string Judge(const CertificateRequest& request, X509* present) const;
  bool IsRevoked(X509* certificate) const;

  std::string folder_;
  CertificateAndKey own_;
  bool made_;
};

}  // namespace tributary::cli
