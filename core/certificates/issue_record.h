// Which certificates an authority has made: issued.txt beside it, so that all of a name can be revoked, and a
// token that lets boards join is good for each of its names once.
#pragma once

#include <openssl/x509.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::certificates {

// A serial number in hexadecimal digits.
std::string SerialText(const ASN1_INTEGER* serial);
inline std::string SerialOf(X509& certificate) { return SerialText(X509_get0_serialNumber(&certificate)); }

// One line a certificate: serial number, name; for one that a board got by a token also the token's id and
// the SHA-256 of its key. The file only grows, so that the aggregator and the command line may both add to
// it. One thread's.
class IssueRecord {
 public:
  static constexpr char kFile[] = "issued.txt";

  // By which token a name was joined, and with which key; empty: it was not.
  struct Joined {
    std::string token;
    std::string key_sha256;
  };
  struct Line {
    std::string serial;
    std::string name;
    Joined joined;
  };

  // Begins the record of a new authority, unless the folder has one. Errors: as Write.
  static absl::Status Begin(const std::string& folder);
  // Errors: FailedPrecondition if the folder has none, with the remedy; InvalidArgument with the line at
  // fault; as ReadFile.
  static absl::StatusOr<IssueRecord> Read(const std::string& folder);
  // A last line without its end is left out: whoever wrote it was interrupted before the certificate left.
  static absl::StatusOr<IssueRecord> Parse(std::string_view text);

  // Whether it was not there yet.
  bool Add(const std::string& name, X509& certificate, Joined joined = {});
  std::vector<std::string> SerialsOf(std::string_view name) const;
  const std::vector<Line>& lines() const { return lines_; }
  // What is to be said if a last line was left out, else empty. Nobody has that certificate if a crash or a
  // full disk tore the line; a damaged file has lost more.
  std::string TornLineWarning() const;
  // Adds to the file what it has not, and syncs it. Lines that an error leaves out are written by the next
  // call. Errors name the path: FailedPrecondition if the file is gone, as Read; PermissionDenied;
  // ResourceExhausted for a full disk; Unavailable.
  absl::Status Write();

 private:
  std::string path_;
  std::vector<Line> lines_;
  std::unordered_set<std::string> serials_;
  std::size_t written_ = 0;  // of lines_
  bool torn_ = false;
};

}  // namespace tributary::certificates
