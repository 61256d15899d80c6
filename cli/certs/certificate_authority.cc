#include "cli/certs/certificate_authority.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/certs/revoked_serials.h"
#include "cli/failure.h"
#include "cli/owned_output.h"
#include "core/certificates/issue_record.h"
#include "core/config/pem.h"
#include "core/runtime/address.h"
#include "core/runtime/file.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr long kDayS = 86'400;
constexpr long kCaDays = 3650;
constexpr long kLeafDays = 730;
constexpr long kRenewDays = 30;

absl::Status Write(const CertificateAndKey& pair, const std::string& certificate_path,
                   const std::string& key_path) {
  constexpr mode_t kOwnerOnly = 0600;
  RETURN_IF_ERROR(WritePlainOutput(key_path, certificates::PemOf(*pair.key), kOwnerOnly));
  return WritePlainOutput(certificate_path, certificates::PemOf(*pair.certificate), 0644);
}

absl::Status Write(certificates::IssueRecord& record) {
  const absl::Status status = record.Write();
  return status.ok() ? status : WithExitCode(status, runtime::kExitCantCreate);
}

bool IsIpAddress(const std::string& address) { return runtime::NormalIpAddress(address).ok(); }

bool Holds(X509* certificate, const std::string& address) {
  if (IsIpAddress(address)) return X509_check_ip_asc(certificate, address.c_str(), 0) == 1;
  return X509_check_host(certificate, address.data(), address.size(), 0, nullptr) == 1;
}

// What a server's certificate holds beyond what every one does.
std::vector<std::string> AddressesOf(X509* certificate, const std::string& name) {
  std::vector<std::string> addresses;
  const std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>> entries(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(entries.get()); ++i) {
    int type = 0;
    const auto* value = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(entries.get(), i), &type));
    const auto* bytes = ASN1_STRING_get0_data(value);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    std::string address;
    if (type == GEN_DNS) {
      address.assign(reinterpret_cast<const char*>(bytes), size);
    } else if (type == GEN_IPADD && (size == 4 || size == 16)) {
      char text[INET6_ADDRSTRLEN] = {};
      address = inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text);
    }
    const bool every =
        address == name || address == "localhost" || address == "127.0.0.1" || address == "::1";
    if (!address.empty() && !every) addresses.push_back(address);
  }
  return addresses;
}

std::string NormalAddress(const std::string& address) {
  return runtime::NormalIpAddress(address).value_or(address);
}

// Adds those that the earlier certificate held. Returns what is to be said of them.
std::string KeepAddresses(std::vector<std::string> earlier, CertificateRequest& request) {
  std::erase_if(earlier, [&request](const std::string& address) {
    return std::ranges::count(request.addresses, address, NormalAddress) > 0;
  });
  if (earlier.empty()) return "";
  const std::string listed = absl::StrJoin(earlier, ", ");
  request.addresses.insert(request.addresses.end(), earlier.begin(), earlier.end());
  return absl::StrCat("; it still holds ", listed);
}

}  // namespace

absl::Status CheckRequest(const CertificateRequest& request) {
  const std::string& name = request.name;
  if (!certificates::IsCertificateName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name \"", name, "\": expected 1 to 63 letters, digits, '-', '_' or '.', and not \"ca\""));
  }
  if (request.use != CertificateUse::kClient && !runtime::IsHostName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name,
        "\" is no host name, by which a server is reached: give it a name and the address behind "
        "'=', as --server aggregator=10.0.0.1"));
  }
  for (const std::string& address : request.addresses) {
    if (IsIpAddress(address) || runtime::IsHostName(address)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", address, "\" of ", name, ": expected an IP address or a host name, without a port"));
  }
  if (request.use == CertificateUse::kClient && !request.addresses.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" has an address and is to be a client: say --server ", name, "=",
                     request.addresses.front(), " for an aggregator, or leave out the address"));
  }
  return absl::OkStatus();
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return WithExitCode(absl::UnknownError(absl::StrCat(folder, ": ", error.message())),
                        runtime::kExitCantCreate);
  }
  if (!std::filesystem::exists(folder + "/ca.pem") && !std::filesystem::exists(folder + "/ca.key")) {
    return Make(folder);
  }
  return OpenExisting(folder);
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::OpenExisting(const std::string& folder) {
  const std::string certificate_path = folder + "/ca.pem", key_path = folder + "/ca.key";
  ASSIGN_OR_RETURN(const std::string certificate_pem, config::ReadPem(certificate_path));
  ASSIGN_OR_RETURN(const std::string key_pem, config::ReadPem(key_path));
  CertificateAndKey read = certificates::PairOf(certificate_pem, key_pem);
  if (!read.key) {
    return absl::InvalidArgumentError(
        absl::StrCat(certificate_path, " and ", key_path,
                     " are not a certificate and its key; move them away to make new ones"));
  }
  return CertificateAuthority(folder, std::move(read), false);
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Make(const std::string& folder) {
  ASSIGN_OR_RETURN(CertificateAndKey made, certificates::MakeAuthority(kCaDays * kDayS));
  // The record first: an authority without one is refused.
  const absl::Status begun = certificates::IssueRecord::Begin(folder);
  if (!begun.ok()) return WithExitCode(begun, runtime::kExitCantCreate);
  RETURN_IF_ERROR(Write(made, folder + "/ca.pem", folder + "/ca.key"));
  return CertificateAuthority(folder, std::move(made), true);
}

std::string CertificateAuthority::Judge(const CertificateRequest& request, X509* present) const {
  if (present == nullptr) return "made again: the files were not a certificate and its key";
  if (X509_verify(present, own_.key.get()) != 1) return "made again: another CA had signed it";
  if (IsRevoked(present)) return "made again: it was revoked";
  time_t renew = time(nullptr) + kRenewDays * kDayS;
  if (X509_cmp_time(X509_get0_notAfter(present), &renew) <= 0) {
    return absl::StrCat("made again: it was valid for less than ", kRenewDays, " days");
  }
  const bool serves = request.use != CertificateUse::kClient;
  const bool connects = request.use != CertificateUse::kServer;
  const std::uint32_t usage = X509_get_extended_key_usage(present);
  if (((usage & XKU_SSL_SERVER) != 0) != serves) {
    return "made again: it was not a server's";
  }
  if (((usage & XKU_SSL_CLIENT) != 0) != connects) {
    return "made again: it was not a client's";
  }
  for (const std::string& address : request.addresses) {
    if (!Holds(present, address)) return "made again: it did not hold the address " + address;
  }
  return kThereAlready;
}

absl::StatusOr<std::string> CertificateAuthority::RecordWarning() const {
  ASSIGN_OR_RETURN(const certificates::IssueRecord record, certificates::IssueRecord::Read(folder_));
  return record.TornLineWarning();
}

absl::Status CertificateAuthority::CheckUse(const CertificateRequest& request) const {
  const absl::StatusOr<std::string> certificate_pem = config::ReadPem(Path(request.name + ".pem"));
  const absl::StatusOr<std::string> key_pem = config::ReadPem(Path(request.name + ".key"));
  if (!certificate_pem.ok() || !key_pem.ok()) return absl::OkStatus();
  const CertificateAndKey pair = certificates::PairOf(*certificate_pem, *key_pem);
  X509* const present = pair.certificate.get();
  if (present == nullptr || X509_verify(present, own_.key.get()) != 1 || IsRevoked(present) ||
      X509_cmp_current_time(X509_get0_notAfter(present)) <= 0) {
    return absl::OkStatus();
  }
  const std::uint32_t usage = X509_get_extended_key_usage(present);
  const bool serves = (usage & XKU_SSL_SERVER) != 0, connects = (usage & XKU_SSL_CLIENT) != 0;
  const bool loses = (serves && request.use == CertificateUse::kClient) ||
                     (connects && request.use == CertificateUse::kServer);
  if (!loses) return absl::OkStatus();
  const std::string_view owner = serves && connects ? "a child aggregator"
                                 : serves           ? "an aggregator"
                                                    : "a client";
  return absl::FailedPreconditionError(fmt::format(
      "{} is the valid certificate of {}: use another name, or --child for a server that is also a "
      "client; to replace it, remove the file first",
      Path(request.name + ".pem"), owner));
}

absl::StatusOr<std::string> CertificateAuthority::Issue(const CertificateRequest& request) const {
  RETURN_IF_ERROR(CheckRequest(request));
  RETURN_IF_ERROR(CheckUse(request));
  const std::string& name = request.name;
  const std::string certificate_path = Path(name + ".pem"), key_path = Path(name + ".key");
  ASSIGN_OR_RETURN(certificates::IssueRecord record, certificates::IssueRecord::Read(folder_));
  const absl::StatusOr<std::string> certificate_pem = config::ReadPem(certificate_path);
  const absl::StatusOr<std::string> key_pem = config::ReadPem(key_path);
  std::string done = "made";
  CertificateRequest wanted = request;
  if (certificate_pem.ok() && key_pem.ok()) {
    const CertificateAndKey present = certificates::PairOf(*certificate_pem, *key_pem);
    const bool ours =
        present.certificate != nullptr && X509_verify(present.certificate.get(), own_.key.get()) == 1;
    // Made by an earlier release, which kept no record.
    if (ours && record.Add(name, *present.certificate)) RETURN_IF_ERROR(Write(record));
    done = Judge(request, present.certificate.get());
    if (done == kThereAlready) return done;
    done += "; its key is new: copy both files";
    if (ours && request.use != CertificateUse::kClient)
      done += KeepAddresses(AddressesOf(present.certificate.get(), name), wanted);
  }

  CertificateAndKey made;
  made.key = certificates::NewKey();
  ASSIGN_OR_RETURN(made.certificate,
                   certificates::MakeCertificate(wanted, *made.key, kLeafDays * kDayS, own_));
  RETURN_IF_ERROR(CheckPlainOutput(key_path));
  RETURN_IF_ERROR(CheckPlainOutput(certificate_path));
  // The record first: a certificate that is not in it could not be revoked by its name.
  record.Add(name, *made.certificate);
  RETURN_IF_ERROR(Write(record));
  RETURN_IF_ERROR(Write(made, certificate_path, key_path));
  return done;
}

bool CertificateAuthority::IsRevoked(X509* certificate) const {
  const absl::StatusOr<RevokedSerials> revoked = RevokedSerials::Read(folder_, *own_.certificate);
  return revoked.ok() && revoked->Holds(certificates::SerialOf(*certificate));
}

absl::StatusOr<std::vector<std::size_t>> CertificateAuthority::Revoke(
    const std::vector<std::string>& names) const {
  ASSIGN_OR_RETURN(const certificates::IssueRecord record, certificates::IssueRecord::Read(folder_));
  ASSIGN_OR_RETURN(RevokedSerials revoked, RevokedSerials::Read(folder_, *own_.certificate));
  std::vector<std::size_t> added;
  for (const std::string& name : names) {
    std::vector<std::string> serials = record.SerialsOf(name);
    const absl::StatusOr<std::string> pem = config::ReadPem(Path(name + ".pem"));
    for (const config::Certificate& each : config::CertificatesIn(pem.value_or(""))) {
      if (X509_verify(each.get(), own_.key.get()) == 1) serials.push_back(certificates::SerialOf(*each));
    }
    if (serials.empty()) {
      return absl::NotFoundError(
          absl::StrCat("\"", name, "\": this CA has made no certificate of that name in ", folder_));
    }
    added.push_back(revoked.Add(serials));
  }
  RETURN_IF_ERROR(revoked.Write(*own_.certificate, *own_.key));
  return added;
}

}  // namespace tributary::cli
