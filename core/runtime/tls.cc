#include "core/runtime/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <memory>

#include "core/runtime/file.h"

namespace tributary {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Store = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;

Bio Memory(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

absl::StatusOr<Certificate> ParseCertificate(const std::string& pem, const std::string& path) {
  Certificate certificate(PEM_read_bio_X509(Memory(pem).get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) return absl::InvalidArgumentError(path + ": not a PEM certificate");
  return certificate;
}

std::string CommonName(X509* certificate) {
  char name[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

absl::Status Verify(X509* certificate, X509* ca, const TlsFiles& files) {
  const Store store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), ca);
  const StoreContext context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr);
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: does not verify against {}: {}; make a new one with `tributary certs`, or name the CA that "
      "signed it",
      files.certificate, files.ca, X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))));
}

}  // namespace

std::optional<TlsFiles> ReadTlsFiles(const ConfigSection& tls) {
  TlsFiles files{tls.File(tls.Text("certificate", "")), tls.File(tls.Text("key", "")),
                 tls.File(tls.Text("ca", ""))};
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return std::nullopt;
  if (given < 3) tls.Fault("", "certificate, key and ca must be given together");
  return files;
}

absl::StatusOr<TlsMaterial> LoadTls(const TlsFiles& files) {
  TlsMaterial material;
  for (auto [path, pem] : {std::pair{&files.certificate, &material.certificate_pem},
                           {&files.key, &material.key_pem},
                           {&files.ca, &material.ca_pem}}) {
    absl::StatusOr<std::string> text = ReadFile(*path);
    if (!text.ok()) return text.status();
    *pem = *std::move(text);
  }
  absl::StatusOr<Certificate> certificate = ParseCertificate(material.certificate_pem, files.certificate);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<Certificate> ca = ParseCertificate(material.ca_pem, files.ca);
  if (!ca.ok()) return ca.status();
  const Key key(PEM_read_bio_PrivateKey(Memory(material.key_pem).get(), nullptr, nullptr, nullptr));
  if (key == nullptr) return absl::InvalidArgumentError(files.key + ": not an unencrypted PEM key");
  if (X509_check_private_key(certificate->get(), key.get()) != 1) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not the key of the certificate {}", files.key, files.certificate));
  }
  if (absl::Status status = Verify(certificate->get(), ca->get(), files); !status.ok()) return status;
  material.name = CommonName(certificate->get());
  return material;
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("localhost:") || address.starts_with("127.") ||
         address.starts_with("[::1]:");
}

}  // namespace tributary
