#include "cli/certs/revoked_serials.h"

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/owned_output.h"
#include "core/certificates/issue_record.h"
#include "core/config/pem.h"
#include "core/config/revocation_list.h"
#include "core/runtime/file.h"
#include "core/status/freed_by.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr long kListS = 365 * 86'400;

using Integer = std::unique_ptr<ASN1_INTEGER, FreedBy<ASN1_INTEGER_free>>;
using Time = std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>>;

Integer IntegerOf(const std::string& hex) {
  BIGNUM* number = nullptr;
  BN_hex2bn(&number, hex.c_str());
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> owner(number);
  return Integer(BN_to_ASN1_INTEGER(number, nullptr));
}

long NumberOf(X509_CRL& list) {
  const Integer number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(&list, NID_crl_number, nullptr, nullptr)));
  return number == nullptr ? 0 : ASN1_INTEGER_get(number.get());
}

}  // namespace

absl::StatusOr<RevokedSerials> RevokedSerials::Read(const std::string& folder, X509& ca) {
  RevokedSerials revoked;
  revoked.path_ = absl::StrCat(folder, "/", kFile);
  const absl::StatusOr<std::string> pem = config::ReadPem(revoked.path_);
  if (absl::IsNotFound(pem.status())) return revoked;
  RETURN_IF_ERROR(pem.status());
  const std::vector<config::Crl> lists = config::CrlsIn(*pem);
  if (lists.size() != 1 || X509_CRL_verify(lists.front().get(), X509_get0_pubkey(&ca)) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(revoked.path_, ": is not a list of this CA; move it away to begin a new one"));
  }
  X509_CRL& list = *lists.front();
  revoked.number_ = NumberOf(list);
  const STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(&list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
    revoked.since_unix_s_[certificates::SerialText(X509_REVOKED_get0_serialNumber(entry))] =
        config::UnixSeconds(X509_REVOKED_get0_revocationDate(entry));
  }
  return revoked;
}

std::size_t RevokedSerials::Add(const std::vector<std::string>& serials) {
  const std::size_t before = since_unix_s_.size();
  for (const std::string& serial : serials) since_unix_s_.try_emplace(serial, std::time(nullptr));
  return since_unix_s_.size() - before;
}

absl::Status RevokedSerials::Write(X509& ca, EVP_PKEY& ca_key) const {
  const config::Crl list(X509_CRL_new());
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(&ca));
  X509_CRL_set1_lastUpdate(list.get(), Time(X509_gmtime_adj(nullptr, 0)).get());
  X509_CRL_set1_nextUpdate(list.get(), Time(X509_gmtime_adj(nullptr, kListS)).get());
  const Integer number(ASN1_INTEGER_new());
  ASN1_INTEGER_set(number.get(), number_ + 1);
  X509_CRL_add1_ext_i2d(list.get(), NID_crl_number, number.get(), 0, 0);
  for (const auto& [serial, since_unix_s] : since_unix_s_) {
    std::unique_ptr<X509_REVOKED, FreedBy<X509_REVOKED_free>> entry(X509_REVOKED_new());
    X509_REVOKED_set_serialNumber(entry.get(), IntegerOf(serial).get());
    X509_REVOKED_set_revocationDate(entry.get(), Time(ASN1_TIME_set(nullptr, since_unix_s)).get());
    X509_CRL_add0_revoked(list.get(), entry.release());
  }
  X509_CRL_sort(list.get());
  if (X509_CRL_sign(list.get(), &ca_key, EVP_sha256()) == 0) {
    return absl::InternalError("OpenSSL could not sign the list of revoked certificates");
  }
  const config::Bio memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(memory.get(), list.get());
  return WritePlainOutput(path_, config::TextIn(memory), 0644);
}

}  // namespace tributary::cli
