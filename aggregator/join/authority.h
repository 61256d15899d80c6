// The authority in whose name the aggregator signs: the folder of `tributary certs`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/certificates/issue_record.h"
#include "core/certificates/new_certificate.h"

namespace tributary::join {

struct Authority {
  certificates::CertificateAndKey pair;
  certificates::IssueRecord record;
};

// Reads ca.pem, ca.key and issued.txt. `trusted_pem`: the [tls] ca, which must hold that ca.pem: otherwise
// whoever joins could not connect. Errors name the file: as ReadPem and IssueRecord::Read;
// FailedPrecondition, somebody else than the owner may read the key, CheckWriters of the three files, or this
// user cannot add to issued.txt;
// InvalidArgument, the files are no certificate and its key, or the CA is not a trusted one.
absl::StatusOr<Authority> ReadAuthority(const std::string& folder, const std::string& trusted_pem);

}  // namespace tributary::join
