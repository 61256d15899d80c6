// Certificates that `tributary certs` does not make.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <functional>
#include <memory>
#include <string>

#include "core/status/freed_by.h"

namespace tributary {

// The certificate signed again by its authority after `change`.
inline std::string SignedAgain(const std::string& certificate_pem, const std::string& authority_key_pem,
                               const std::function<void(X509*)>& change) {
  using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
  const auto memory = [](const std::string& pem) {
    return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  const std::unique_ptr<X509, FreedBy<X509_free>> certificate(
      PEM_read_bio_X509(memory(certificate_pem).get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(memory(authority_key_pem).get(), nullptr, nullptr, nullptr));
  change(certificate.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

// Valid between these times from now, in s.
inline std::string DatedCertificate(const std::string& certificate_pem, const std::string& authority_key_pem,
                                    long begin_s, long end_s) {
  return SignedAgain(certificate_pem, authority_key_pem, [=](X509* certificate) {
    X509_gmtime_adj(X509_getm_notBefore(certificate), begin_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), end_s);
  });
}

// Without extended key usages, as other authorities may make them.
inline std::string CertificateOfNoUse(const std::string& certificate_pem,
                                      const std::string& authority_key_pem) {
  return SignedAgain(certificate_pem, authority_key_pem, [](X509* certificate) {
    X509_EXTENSION_free(
        X509_delete_ext(certificate, X509_get_ext_by_NID(certificate, NID_ext_key_usage, -1)));
  });
}

// A list of its authority with one certificate and without a number, made at that time.
inline std::string ListWithoutNumber(const std::string& authority_pem, const std::string& authority_key_pem,
                                     const std::string& revoked_pem, long unix_s) {
  using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
  const auto memory = [](const std::string& pem) {
    return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  const auto certificate = [&](const std::string& pem) {
    return std::unique_ptr<X509, FreedBy<X509_free>>(
        PEM_read_bio_X509(memory(pem).get(), nullptr, nullptr, nullptr));
  };
  const std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(memory(authority_key_pem).get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>> time(ASN1_TIME_set(nullptr, unix_s));
  const std::unique_ptr<X509_CRL, FreedBy<X509_CRL_free>> list(X509_CRL_new());
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate(authority_pem).get()));
  X509_CRL_set1_lastUpdate(list.get(), time.get());
  X509_REVOKED* const entry = X509_REVOKED_new();  // the list's
  X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate(revoked_pem).get()));
  X509_REVOKED_set_revocationDate(entry, time.get());
  X509_CRL_add0_revoked(list.get(), entry);
  X509_CRL_sign(list.get(), key.get(), EVP_sha256());
  const Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(out.get(), list.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

inline std::string ExpiredCertificate(const std::string& certificate_pem,
                                      const std::string& authority_key_pem) {
  return DatedCertificate(certificate_pem, authority_key_pem, -7200, -3600);
}

}  // namespace tributary
