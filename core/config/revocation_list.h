// The certificates that their CA has taken back: a certificate revocation list (RFC 5280) as PEM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::config {

// Issuer and serial number of a certificate: what a list names it by. Opaque, for comparison.
using CertificateId = std::string;

// That of the first certificate in a PEM text. InvalidArgument if there is none.
absl::StatusOr<CertificateId> CertificateIdOf(std::string_view certificate_pem);

// Immutable, so any thread may ask. An empty list refuses nobody.
class RevocationList {
 public:
  // Each list may have to be compared with each CA.
  static constexpr std::size_t kMostLists = 16;

  RevocationList() = default;
  // One or several lists. Each must be signed by a CA in `ca_pem` and be complete: delta lists and lists of a
  // part are refused. A list past its date is taken, since what it names stays revoked; see expires_unix_s.
  // Errors: InvalidArgument with what is wrong and what to do.
  static absl::StatusOr<RevocationList> Parse(std::string_view pem, std::string_view ca_pem);

  bool Lists(const CertificateId& certificate) const { return revoked_.contains(certificate); }
  std::size_t size() const { return revoked_.size(); }
  // When the CA will have made a newer list; the earliest one. 0: never said.
  std::int64_t expires_unix_s() const { return expires_unix_s_; }
  // CAs of which it has no list: none of their certificates counts as revoked.
  std::size_t unlisted() const { return unlisted_.size(); }
  // FailedPrecondition if this one is older than `before`, or lacks the list of a CA of which `before` has
  // one and that is still trusted: such a file would let revoked certificates in.
  absl::Status MayReplace(const RevocationList& before) const;

  friend bool operator==(const RevocationList&, const RevocationList&) = default;

 private:
  struct Edition {
    std::int64_t number = 0;  // 0: it has none
    std::int64_t made_unix_s = 0;

    bool operator==(const Edition&) const = default;
    bool operator<(const Edition& other) const {
      return std::tie(number, made_unix_s) < std::tie(other.number, other.made_unix_s);
    }
  };

  std::unordered_set<CertificateId> revoked_;
  std::map<std::string, Edition> editions_;   // by the digest of the CA's key
  std::unordered_set<std::string> unlisted_;  // digests of the other CAs' keys
  std::int64_t expires_unix_s_ = 0;
};

}  // namespace tributary::config
