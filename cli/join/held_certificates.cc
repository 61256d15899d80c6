#include "cli/join/held_certificates.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/certificates/new_certificate.h"
#include "core/config/pem.h"

namespace tributary::cli {
namespace {

std::string PemIn(const std::filesystem::path& file) { return config::ReadPem(file.string()).value_or(""); }

// Null if it is not in the folder's ca.pem.
config::Certificate AuthorityIn(const std::filesystem::path& folder, const std::string& ca_sha256) {
  for (config::Certificate& each : config::CertificatesIn(PemIn(folder / "ca.pem"))) {
    if (certificates::Fingerprint(*each) == ca_sha256) return std::move(each);
  }
  return nullptr;
}

std::optional<HeldCertificate> HeldIn(const std::filesystem::path& file, X509* authority) {
  const std::string name = file.stem().string();
  if (file.extension() != ".pem" || !certificates::IsCertificateName(name)) return std::nullopt;
  const certificates::CertificateAndKey pair =
      certificates::PairOf(PemIn(file), PemIn(std::filesystem::path(file).replace_extension(".key")));
  X509* const held = pair.certificate.get();
  if (held == nullptr || X509_cmp_current_time(X509_get0_notAfter(held)) <= 0) return std::nullopt;
  const std::uint32_t usage = X509_get_extended_key_usage(held);
  return HeldCertificate{
      .name = name,
      .expires_unix_s = config::UnixSeconds(X509_get0_notAfter(held)),
      .client = (usage & XKU_SSL_CLIENT) != 0 && (usage & XKU_SSL_SERVER) == 0,
      .of_authority = authority != nullptr && X509_verify(held, X509_get0_pubkey(authority)) == 1};
}

}  // namespace

std::vector<HeldCertificate> HeldCertificates(const std::string& folder, const std::string& ca_sha256) {
  const config::Certificate authority = AuthorityIn(folder, ca_sha256);
  std::vector<HeldCertificate> held;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (auto each = HeldIn(entry.path(), authority.get())) held.push_back(*std::move(each));
  }
  std::ranges::sort(held, {}, &HeldCertificate::name);
  return held;
}

}  // namespace tributary::cli
