#include "core/config/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/runtime/file.h"
#include "core/status/freed_by.h"
#include "core/status/macros.h"

namespace tributary::config {
namespace {

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Store = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;

// Reads a file, keeps its text and parses it by one of OpenSSL's readers; `fault` says what is wrong and what
// to do where it does not parse.
template <typename Parsed>
absl::StatusOr<Parsed> ReadPem(const std::string& path, auto* read, std::string_view fault,
                               std::string& pem) {
  ASSIGN_OR_RETURN(pem, runtime::ReadFile(path));
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char no_password[] = "";  // else OpenSSL asks on the terminal
  Parsed parsed(read(bio.get(), nullptr, nullptr, no_password));
  if (parsed != nullptr) return parsed;
  ERR_clear_error();  // a later user of OpenSSL on this thread would take it for its own
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, fault));
}

absl::StatusOr<Certificate> ReadCertificate(const std::string& path, std::string& pem) {
  return ReadPem<Certificate>(
      path, PEM_read_bio_X509,
      "is not a PEM certificate; give a file that begins with -----BEGIN CERTIFICATE-----", pem);
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
  ERR_clear_error();
  switch (const int error = X509_STORE_CTX_get_error(context.get())) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: {
      // The chain is the certificate and the CA; either may be out of its time.
      const std::string& file =
          X509_STORE_CTX_get_error_depth(context.get()) == 0 ? files.certificate : files.ca;
      return absl::InvalidArgumentError(
          fmt::format("{}: {}; check this machine's clock, or make a new one with `tributary certs`", file,
                      error == X509_V_ERR_CERT_HAS_EXPIRED ? "has expired" : "is not valid yet"));
    }
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_INVALID_CA:
      return absl::InvalidArgumentError(
          fmt::format("{}: the CA in {} did not sign it; give the ca.pem that was made together with it",
                      files.certificate, files.ca));
    default:
      return absl::InvalidArgumentError(
          fmt::format("{}: does not verify against {}: {}; make a new one with `tributary certs`",
                      files.certificate, files.ca, X509_verify_cert_error_string(error)));
  }
}

}  // namespace

std::optional<TlsFiles> ReadTlsFiles(const ConfigSection& tls) {
  constexpr const char* kHelp = "PEM file; default: none";
  TlsFiles files;
  tls.ReadFile("certificate", files.certificate, kHelp);
  tls.ReadFile("key", files.key, kHelp);
  tls.ReadFile("ca", files.ca, kHelp);
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return std::nullopt;
  if (given < 3) tls.Fault("", "certificate, key and ca must be given together");
  return files;
}

absl::StatusOr<TlsMaterial> LoadTls(const TlsFiles& files) {
  TlsMaterial material;
  std::vector<absl::Status> faults;
  const auto note = [&faults](const absl::Status& status) {
    if (!status.ok()) faults.push_back(status);
    return status.ok();
  };
  const auto certificate = ReadCertificate(files.certificate, material.certificate_pem);
  const auto key = ReadPem<Key>(files.key, PEM_read_bio_PrivateKey,
                                "is not an unencrypted PEM key; give the file NAME.key of the certificate",
                                material.key_pem);
  const auto ca = ReadCertificate(files.ca, material.ca_pem);
  const bool has_certificate = note(certificate.status());
  if (note(key.status()) && has_certificate && X509_check_private_key(certificate->get(), key->get()) != 1) {
    note(absl::InvalidArgumentError(
        fmt::format("{}: is not the key of the certificate {}; give the two files of one name", files.key,
                    files.certificate)));
    ERR_clear_error();
  }
  if (note(ca.status()) && has_certificate) note(Verify(certificate->get(), ca->get(), files));
  if (faults.size() == 1) return faults.front();
  if (!faults.empty()) {
    const auto message = [](std::string* text, const absl::Status& fault) {
      absl::StrAppend(text, fault.message());
    };
    return absl::Status(faults.front().code(), absl::StrJoin(faults, "\n", message));
  }
  material.name = CommonName(certificate->get());
  return material;
}

std::optional<TlsMaterial> PrepareTls(const ConfigFile& file, const TlsFiles& files,
                                      std::initializer_list<NamedKey> names) {
  if (file.HasFault("tls")) return std::nullopt;
  absl::StatusOr<TlsMaterial> tls = LoadTls(files);
  if (!tls.ok()) {
    file.Fault("tls", {{"tls.certificate", files.certificate}, {"tls.key", files.key}, {"tls.ca", files.ca}},
               tls.status());
    return std::nullopt;
  }
  for (const auto& [key, name] : names) {
    if (name.empty() || name == tls->name) continue;
    file.Fault(
        key,
        fmt::format("\"{}\" is not the name on the certificate {}, which is \"{}\"; an aggregator refuses "
                    "that: use the certificate of this node, or its name",
                    name, files.certificate, tls->name));
  }
  return *std::move(tls);
}

}  // namespace tributary::config
