#include "core/config/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/pem.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::config {
namespace {

using Store = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;

absl::Status Fault(const std::string& path, std::string_view fault) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, fault));
}

// Reads the file, keeps its text, and gives its certificates: at least one.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& path, std::string& pem) {
  ASSIGN_OR_RETURN(pem, ReadPem(path));
  std::vector<Certificate> certificates = CertificatesIn(pem);
  if (certificates.size() > kMostInOneText) {
    return Fault(path, fmt::format("has more than {} certificates", kMostInOneText));
  }
  if (!certificates.empty()) return certificates;
  return Fault(path, "is not a PEM certificate; give a file that begins with -----BEGIN CERTIFICATE-----");
}

absl::StatusOr<Key> ReadKey(const std::string& path, std::string& pem) {
  ASSIGN_OR_RETURN(pem, ReadPem(path));
  if (Key key = KeyIn(pem)) return key;
  return Fault(path, "is not an unencrypted PEM key; give the file NAME.key of the certificate");
}

std::string CommonName(X509* certificate) {
  char name[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

absl::Status Verify(X509* certificate, const std::vector<Certificate>& authorities, const TlsFiles& files) {
  const Store store(X509_STORE_new());
  for (const Certificate& ca : authorities) X509_STORE_add_cert(store.get(), ca.get());
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

absl::Status CheckUses(X509* certificate, TlsUses uses, const std::string& path) {
  if (uses.server && X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Fault(path, uses.client ? "may not be used by a server; an aggregator with a parent takes one of "
                                     "`tributary certs --child NAME=ADDRESS`"
                                   : "may not be used by a server; an aggregator takes one of "
                                     "`tributary certs --server NAME=ADDRESS`");
  }
  if (uses.client && X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) != 1) {
    return Fault(path, uses.server ? "may not be used by a client; an aggregator with a parent takes one of "
                                     "`tributary certs --child NAME=ADDRESS`"
                                   : "may not be used by a client; nodes and commands take one of "
                                     "`tributary certs --name NAME --out FOLDER`");
  }
  return absl::OkStatus();
}

std::int64_t FirstExpiry(const std::vector<Certificate>& certificates) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const Certificate& each : certificates) {
    first = std::min(first, UnixSeconds(X509_get0_notAfter(each.get())));
  }
  return first;
}

}  // namespace

std::optional<TlsFiles> ReadTlsFiles(const ConfigSection& tls, bool lists) {
  constexpr Help kHelp = Hot("PEM file, read again when it changes; default: none");
  TlsFiles files;
  tls.ReadFile("certificate", files.certificate, kHelp);
  tls.ReadFile("key", files.key, kHelp);
  tls.ReadFile("ca", files.ca, kHelp);
  if (lists) {
    tls.ReadFile(
        "crl", files.crl,
        Hot("PEM file of `tributary certs revoke`, read again when it changes: certificates that are "
            "taken back; default: none"));
  }
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0 && !files.crl.empty()) tls.Fault("crl", "needs certificate, key and ca");
  if (given == 0) return std::nullopt;
  if (given < 3) tls.Fault("", "certificate, key and ca must be given together");
  return files;
}

absl::StatusOr<TlsMaterial> LoadTls(const TlsFiles& files, TlsUses uses) {
  TlsMaterial material;
  std::vector<absl::Status> faults;
  const auto note = [&faults](const absl::Status& status) {
    if (!status.ok()) faults.push_back(status);
    return status.ok();
  };
  const auto chain = ReadCertificates(files.certificate, material.certificate_pem);
  const auto key = ReadKey(files.key, material.key_pem);
  const auto authorities = ReadCertificates(files.ca, material.ca_pem);
  X509* const certificate = note(chain.status()) ? chain->front().get() : nullptr;
  if (note(key.status()) && certificate != nullptr && X509_check_private_key(certificate, key->get()) != 1) {
    note(absl::InvalidArgumentError(
        fmt::format("{}: is not the key of the certificate {}; give the two files of one name", files.key,
                    files.certificate)));
    ERR_clear_error();
  }
  if (note(authorities.status()) && certificate != nullptr) note(Verify(certificate, *authorities, files));
  if (certificate != nullptr) note(CheckUses(certificate, uses, files.certificate));
  if (faults.size() == 1) return faults.front();
  if (!faults.empty()) {
    const auto message = [](std::string* text, const absl::Status& fault) {
      absl::StrAppend(text, fault.message());
    };
    return absl::Status(faults.front().code(), absl::StrJoin(faults, "\n", message));
  }
  material.name = CommonName(certificate);
  material.expires_unix_s = UnixSeconds(X509_get0_notAfter(certificate));
  material.ca_expires_unix_s = FirstExpiry(*authorities);
  return material;
}

absl::StatusOr<std::int64_t> CertificateExpiry(std::string_view pem) {
  const std::vector<Certificate> certificates = CertificatesIn(pem);
  if (certificates.empty()) return absl::InvalidArgumentError("is not a PEM certificate");
  return UnixSeconds(X509_get0_notAfter(certificates.front().get()));
}

std::string CertificateName(std::string_view pem) {
  const std::vector<Certificate> certificates = CertificatesIn(pem);
  return certificates.empty() ? "" : CommonName(certificates.front().get());
}

absl::StatusOr<RevocationList> LoadRevocations(const TlsFiles& files, const TlsMaterial& material) {
  ASSIGN_OR_RETURN(const std::string pem, ReadPem(files.crl));
  return WithContext(files.crl, RevocationList::Parse(pem, material.ca_pem));
}

std::optional<LoadedTls> PrepareTls(const ConfigFile& file, const TlsFiles& files, TlsUses uses,
                                    std::initializer_list<NamedKey> names) {
  if (file.HasFault("tls")) return std::nullopt;
  absl::StatusOr<TlsMaterial> tls = LoadTls(files, uses);
  if (!tls.ok()) {
    file.Fault("tls", {{"tls.certificate", files.certificate}, {"tls.key", files.key}, {"tls.ca", files.ca}},
               tls.status());
    return std::nullopt;
  }
  RevocationList revoked;
  if (!files.crl.empty()) {
    absl::StatusOr<RevocationList> list = LoadRevocations(files, *tls);
    if (list.ok()) {
      revoked = *std::move(list);
    } else {
      file.Fault("tls.crl", std::string(list.status().message()));
    }
  }
  for (const auto& [key, name] : names) {
    if (name.empty() || name == tls->name) continue;
    file.Fault(
        key,
        fmt::format("\"{}\" is not the name on the certificate {}, which is \"{}\"; an aggregator refuses "
                    "that: use the certificate of this node, or its name",
                    name, files.certificate, tls->name));
  }
  return LoadedTls{*std::move(tls), std::move(revoked)};
}

}  // namespace tributary::config
