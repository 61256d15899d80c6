#include "core/certificates/new_certificate.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/config/access_tokens.h"
#include "core/runtime/address.h"
#include "core/status/freed_by.h"
#include "core/status/macros.h"

namespace tributary::certificates {
namespace {

constexpr std::int64_t kDayS = 86'400;

void FreeBytes(unsigned char* bytes) { OPENSSL_free(bytes); }

// SHA-256 of what OpenSSL writes as DER.
template <class Object>
std::string DigestOf(const Object* object, int (*encode)(const Object*, unsigned char**)) {
  unsigned char* bytes = nullptr;
  const int size = encode(object, &bytes);
  const std::unique_ptr<unsigned char, FreedBy<FreeBytes>> held(bytes);
  if (size <= 0) return "";
  return config::Sha256Hex({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
}

using Extensions = std::vector<std::pair<int, std::string>>;  // by NID

// Adds the issuer and the extensions, and signs.
absl::Status Sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key, const Extensions& extensions) {
  const absl::Status fault = absl::InternalError("OpenSSL cannot make the certificate");
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  for (const auto& [nid, value] : extensions) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) return fault;
  }
  return X509_sign(certificate, issuer_key, EVP_sha256()) != 0 ? absl::OkStatus() : fault;
}

// Everything but issuer, extensions and signature.
config::Certificate Unsigned(const std::string& name, EVP_PKEY* public_key, std::int64_t lifetime_s) {
  config::Certificate made(X509_new());
  X509* const certificate = made.get();
  X509_set_version(certificate, X509_VERSION_3);
  unsigned char serial[8];
  RAND_bytes(serial, sizeof serial);
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 1);  // positive and not zero
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  // By days and seconds: the seconds alone may be more than a long of 32 bits holds.
  X509_time_adj_ex(X509_getm_notAfter(certificate), static_cast<int>(lifetime_s / kDayS),
                   static_cast<long>(lifetime_s % kDayS), nullptr);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, public_key);
  return made;
}

Extensions ExtensionsOf(const CertificateRequest& request) {
  const char* usage = request.use == CertificateUse::kClient   ? "clientAuth"
                      : request.use == CertificateUse::kServer ? "serverAuth"
                                                               : "serverAuth,clientAuth";
  Extensions extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                           {NID_key_usage, "critical,digitalSignature"},
                           {NID_ext_key_usage, usage},
                           {NID_authority_key_identifier, "keyid"}};
  if (request.use == CertificateUse::kClient) return extensions;
  std::string reached_at = absl::StrCat("DNS:", request.name, ",DNS:localhost,IP:127.0.0.1,IP:::1");
  for (const std::string& address : request.addresses) {
    absl::StrAppend(&reached_at, runtime::NormalIpAddress(address).ok() ? ",IP:" : ",DNS:", address);
  }
  extensions.emplace_back(NID_subject_alt_name, reached_at);
  return extensions;
}

}  // namespace

bool IsCertificateName(std::string_view name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 63 && name[0] != '.' && name[0] != '-' && name != "ca" &&
         std::ranges::all_of(name, allowed);
}

config::Key NewKey() { return config::Key(EVP_EC_gen("P-256")); }

absl::StatusOr<CertificateAndKey> MakeAuthority(std::int64_t lifetime_s) {
  // A name of its own: whoever trusts two CAs, while one is replaced, finds a certificate's CA by its name.
  unsigned char mark[4] = {};
  RAND_bytes(mark, sizeof mark);
  CertificateAndKey made;
  made.key = NewKey();
  made.certificate =
      Unsigned(fmt::format("Tributary CA {:02x}{:02x}{:02x}{:02x}", mark[0], mark[1], mark[2], mark[3]),
               made.key.get(), lifetime_s);
  RETURN_IF_ERROR(Sign(made.certificate.get(), made.certificate.get(), made.key.get(),
                       {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                        {NID_key_usage, "critical,keyCertSign,cRLSign"},
                        {NID_subject_key_identifier, "hash"}}));
  return made;
}

absl::StatusOr<config::Certificate> MakeCertificate(const CertificateRequest& request, EVP_PKEY& public_key,
                                                    std::int64_t lifetime_s,
                                                    const CertificateAndKey& authority) {
  config::Certificate made = Unsigned(request.name, &public_key, lifetime_s);
  RETURN_IF_ERROR(Sign(made.get(), authority.certificate.get(), authority.key.get(), ExtensionsOf(request)));
  return made;
}

CertificateAndKey PairOf(std::string_view certificate_pem, std::string_view key_pem) {
  CertificateAndKey read;
  std::vector<config::Certificate> certificates = config::CertificatesIn(certificate_pem);
  if (!certificates.empty()) read.certificate = std::move(certificates.front());
  read.key = config::KeyIn(key_pem);
  const bool fits =
      read.certificate && read.key && X509_check_private_key(read.certificate.get(), read.key.get()) == 1;
  return fits ? std::move(read) : CertificateAndKey();
}

std::string PemOf(const X509& certificate) {
  const config::Bio memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), &certificate);
  return config::TextIn(memory);
}

std::string PemOf(const EVP_PKEY& key) {
  const config::Bio memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return config::TextIn(memory);
}

std::string Fingerprint(const X509& certificate) { return DigestOf(&certificate, i2d_X509); }

std::string Fingerprint(const EVP_PKEY& key) { return DigestOf(&key, i2d_PUBKEY); }

}  // namespace tributary::certificates
