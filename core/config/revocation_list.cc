#include "core/config/revocation_list.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/config/pem.h"

namespace tributary::config {
namespace {

std::string Encoded(const X509_NAME* name) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_NAME(name, &bytes);
  if (size <= 0) return "";
  std::string encoded(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return encoded;
}

CertificateId IdOf(const std::string& issuer, const ASN1_INTEGER* serial) {
  const auto* digits = reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial));
  return issuer + std::string(digits, static_cast<std::size_t>(ASN1_STRING_length(serial)));
}

// Null: none of them.
const X509* SignerOf(X509_CRL* list, const std::vector<Certificate>& authorities) {
  const auto signer = std::ranges::find_if(authorities, [list](const Certificate& ca) {
    const bool may_sign = (X509_get_key_usage(ca.get()) & KU_CRL_SIGN) != 0 && X509_check_ca(ca.get()) != 0;
    return may_sign && X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(ca.get())) == 0 &&
           X509_CRL_verify(list, X509_get0_pubkey(ca.get())) == 1;
  });
  ERR_clear_error();
  return signer == authorities.end() ? nullptr : signer->get();
}

// A new CA of the same name counts its lists from one.
std::string KeyOf(const X509* ca) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  X509_pubkey_digest(ca, EVP_sha256(), digest, &size);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

bool IsComplete(X509_CRL* list) {
  return X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) < 0 &&
         X509_CRL_get_ext_by_NID(list, NID_issuing_distribution_point, -1) < 0;
}

// 0 for none, or one that no CA reaches.
std::int64_t NumberOf(X509_CRL* list) {
  const std::unique_ptr<ASN1_INTEGER, FreedBy<ASN1_INTEGER_free>> number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  std::int64_t value = 0;
  if (number == nullptr || ASN1_INTEGER_get_int64(&value, number.get()) != 1) value = 0;
  ERR_clear_error();
  return value;
}

}  // namespace

absl::StatusOr<CertificateId> CertificateIdOf(std::string_view certificate_pem) {
  const std::vector<Certificate> certificates = CertificatesIn(certificate_pem);
  if (certificates.empty()) return absl::InvalidArgumentError("is not a PEM certificate");
  const X509* certificate = certificates.front().get();
  return IdOf(Encoded(X509_get_issuer_name(certificate)), X509_get0_serialNumber(certificate));
}

absl::StatusOr<RevocationList> RevocationList::Parse(std::string_view pem, std::string_view ca_pem) {
  if (pem.size() > kMostPemBytes) {
    return absl::InvalidArgumentError(
        fmt::format("is larger than {} bytes: make a new CA when so many are revoked", kMostPemBytes));
  }
  const std::vector<Crl> lists = CrlsIn(pem);
  if (lists.empty()) {
    return absl::InvalidArgumentError(
        "is not a PEM revocation list; give the crl.pem that `tributary certs revoke` makes");
  }
  const std::vector<Certificate> authorities = CertificatesIn(ca_pem);
  if (lists.size() > kMostLists || authorities.size() > kMostInOneText) {
    return absl::InvalidArgumentError(
        fmt::format("has more than {} lists, or its CA file more than {} CAs", kMostLists, kMostInOneText));
  }
  RevocationList all;
  for (const Certificate& ca : authorities) all.unlisted_.insert(KeyOf(ca.get()));
  for (const Crl& list : lists) {
    if (!IsComplete(list.get())) {
      return absl::InvalidArgumentError("has only a part of a list; give the complete one of the CA");
    }
    const X509* const signer = SignerOf(list.get(), authorities);
    if (signer == nullptr) {
      return absl::InvalidArgumentError(
          "is not signed by a CA in the ca file; give the crl.pem that was made beside that ca.pem");
    }
    const std::string issuer = Encoded(X509_CRL_get_issuer(list.get()));
    const std::string key = KeyOf(signer);
    all.unlisted_.erase(key);
    Edition& edition = all.editions_[key];
    edition =
        std::max(edition, Edition{NumberOf(list.get()), UnixSeconds(X509_CRL_get0_lastUpdate(list.get()))});
    const std::int64_t expires = UnixSeconds(X509_CRL_get0_nextUpdate(list.get()));
    if (expires != 0 && (all.expires_unix_s_ == 0 || expires < all.expires_unix_s_)) {
      all.expires_unix_s_ = expires;
    }
    const STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list.get());
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
      const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
      all.revoked_.insert(IdOf(issuer, X509_REVOKED_get0_serialNumber(entry)));
    }
  }
  return all;
}

absl::Status RevocationList::MayReplace(const RevocationList& before) const {
  for (const auto& [key, edition] : before.editions_) {
    const auto ours = editions_.find(key);
    if (unlisted_.contains(key)) {
      return absl::FailedPreconditionError(
          "lacks the list of a CA that is still in the ca file; put the crl.pem of each CA into it, one "
          "after "
          "the other");
    }
    if (ours != editions_.end() && ours->second < edition) {
      return absl::FailedPreconditionError("is older than the list in force; give the newest crl.pem");
    }
  }
  return absl::OkStatus();
}

}  // namespace tributary::config
