// The certificates that a board's folder has already, so that joining replaces none that works.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::cli {

struct HeldCertificate {
  std::string name;
  std::int64_t expires_unix_s = 0;
  bool client = false;        // and not a server's too
  bool of_authority = false;  // signed by that authority, which is in the folder's ca.pem
};

// Those in `folder` that have their key beside them and have not expired, by name. `ca_sha256`: the hash of
// the authority that is asked for. Files that cannot be read count as absent.
std::vector<HeldCertificate> HeldCertificates(const std::string& folder, const std::string& ca_sha256);

}  // namespace tributary::cli
