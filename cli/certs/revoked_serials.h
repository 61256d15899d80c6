// The list of revoked certificates of a CA: crl.pem beside it.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::cli {

// Serial numbers as certificates::SerialOf gives them. One thread's.
class RevokedSerials {
 public:
  static constexpr char kFile[] = "crl.pem";

  // Empty if the folder has none. Errors: InvalidArgument for a list that is none or of another CA, so that
  // it is not replaced by a shorter one; as ReadFile.
  static absl::StatusOr<RevokedSerials> Read(const std::string& folder, X509& ca);

  bool Holds(const std::string& serial) const { return since_unix_s_.contains(serial); }
  std::size_t size() const { return since_unix_s_.size(); }
  // Returns how many were not in it.
  std::size_t Add(const std::vector<std::string>& serials);
  // Signs and writes the list, valid for a year. Errors: as WriteOutput.
  absl::Status Write(X509& ca, EVP_PKEY& ca_key) const;

 private:
  std::string path_;
  std::map<std::string, std::int64_t> since_unix_s_;
  long number_ = 0;  // of the list that was read; each list has the next one
};

}  // namespace tributary::cli
