// Which certificates a CA has made: issued.txt beside it, so that all of a name can be revoked.
#pragma once

#include <openssl/x509.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::cli {

// A serial number in hexadecimal digits.
std::string SerialText(const ASN1_INTEGER* serial);
inline std::string SerialOf(X509& certificate) { return SerialText(X509_get0_serialNumber(&certificate)); }

// One line a certificate: serial number, name. One thread's.
class IssueRecord {
 public:
  static constexpr char kFile[] = "issued.txt";

  // Empty if the folder has none. Errors: InvalidArgument with the line at fault; as ReadFile.
  static absl::StatusOr<IssueRecord> Read(const std::string& folder);
  static absl::StatusOr<IssueRecord> Parse(std::string_view text);

  // Whether it was not there yet.
  bool Add(const std::string& name, X509& certificate);
  std::vector<std::string> SerialsOf(std::string_view name) const;
  // Errors: as WriteOutput.
  absl::Status Write() const;

 private:
  struct Line {
    std::string serial;
    std::string name;
  };

  std::string path_;
  std::vector<Line> lines_;
};

}  // namespace tributary::cli
