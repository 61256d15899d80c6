#include "cli/certs/certificate_authority.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/runtime/address.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr long kDayS = 86'400;
constexpr long kCaDays = 3650;
constexpr long kLeafDays = 730;
constexpr long kRenewDays = 30;

std::string Path(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free>>;

std::string Content(const Bio& memory) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

Bio Memory(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// Both are null unless they belong together.
CertificateAndKey FromPem(const std::string& certificate_pem, const std::string& key_pem) {
  CertificateAndKey read;
  read.certificate.reset(PEM_read_bio_X509(Memory(certificate_pem).get(), nullptr, nullptr, nullptr));
  read.key.reset(PEM_read_bio_PrivateKey(Memory(key_pem).get(), nullptr, nullptr, nullptr));
  const bool fits =
      read.certificate && read.key && X509_check_private_key(read.certificate.get(), read.key.get()) == 1;
  return fits ? std::move(read) : CertificateAndKey();
}

absl::Status Write(const CertificateAndKey& pair, const std::string& certificate_path,
                   const std::string& key_path) {
  constexpr mode_t kOwnerOnly = 0600;
  const Bio certificate(BIO_new(BIO_s_mem())), key(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate.get(), pair.certificate.get());
  PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  RETURN_IF_ERROR(WriteOutput(key_path, Content(key), kOwnerOnly));
  return WriteOutput(certificate_path, Content(certificate));
}

// Adds the issuer and the extensions, by their NIDs, and signs.
bool Sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key,
          std::initializer_list<std::pair<int, std::string>> extensions) {
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  for (const auto& [nid, value] : extensions) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) return false;
  }
  return X509_sign(certificate, issuer_key, EVP_sha256()) != 0;
}

// Everything but issuer, extensions and signature.
CertificateAndKey NewCertificate(const std::string& name, long days) {
  CertificateAndKey made;
  made.certificate.reset(X509_new());
  made.key.reset(EVP_EC_gen("P-256"));
  X509* const certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  unsigned char serial[8];
  RAND_bytes(serial, sizeof serial);
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 1);  // positive and not zero
  const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
  // An hour back, for clocks that are not quite together.
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDayS);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, made.key.get());
  return made;
}

bool IsHostName(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 63 && name[0] != '.' && name[0] != '-' &&
         std::ranges::all_of(name, allowed);
}

bool IsIpAddress(const std::string& address) { return runtime::NormalIpAddress(address).ok(); }

bool Holds(X509* certificate, const std::string& address) {
  if (IsIpAddress(address)) return X509_check_ip_asc(certificate, address.c_str(), 0) == 1;
  return X509_check_host(certificate, address.data(), address.size(), 0, nullptr) == 1;
}

}  // namespace

absl::Status CheckCertificateName(const std::string& name, const std::vector<std::string>& addresses) {
  if (!IsHostName(name) || name == "ca") {
    return absl::InvalidArgumentError(absl::StrCat(
        "name \"", name, "\": expected 1 to 63 letters, digits, '-', '_' or '.', and not \"ca\""));
  }
  for (const std::string& address : addresses) {
    if (IsIpAddress(address) || IsHostName(address)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", address, "\" of ", name, ": expected an IP address or a host name, without a port"));
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
  const std::string certificate_path = Path(folder, "ca.pem");
  const std::string key_path = Path(folder, "ca.key");
  if (!std::filesystem::exists(certificate_path) && !std::filesystem::exists(key_path)) {
    return Make(certificate_path, key_path);
  }
  ASSIGN_OR_RETURN(const std::string certificate_pem, runtime::ReadFile(certificate_path));
  ASSIGN_OR_RETURN(const std::string key_pem, runtime::ReadFile(key_path));
  CertificateAndKey read = FromPem(certificate_pem, key_pem);
  if (!read.key) {
    return absl::InvalidArgumentError(
        absl::StrCat(certificate_path, " and ", key_path,
                     " are not a certificate and its key; move them away to make new ones"));
  }
  return CertificateAuthority(std::move(read), false);
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Make(const std::string& certificate_path,
                                                                const std::string& key_path) {
  CertificateAndKey made = NewCertificate("Tributary CA", kCaDays);
  if (!Sign(made.certificate.get(), made.certificate.get(), made.key.get(),
            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
             {NID_key_usage, "critical,keyCertSign,cRLSign"},
             {NID_subject_key_identifier, "hash"}})) {
    return absl::InternalError("OpenSSL could not make the CA certificate");
  }
  RETURN_IF_ERROR(Write(made, certificate_path, key_path));
  return CertificateAuthority(std::move(made), true);
}

std::string CertificateAuthority::Judge(const std::string& certificate_path, const std::string& key_path,
                                        const std::vector<std::string>& addresses) const {
  const absl::StatusOr<std::string> certificate_pem = runtime::ReadFile(certificate_path);
  const absl::StatusOr<std::string> key_pem = runtime::ReadFile(key_path);
  if (!certificate_pem.ok() || !key_pem.ok()) return "made";
  const CertificateAndKey read = FromPem(*certificate_pem, *key_pem);
  if (!read.key) return "made again: the files were not a certificate and its key";
  X509* const certificate = read.certificate.get();
  if (X509_verify(certificate, own_.key.get()) != 1) return "made again: another CA had signed it";
  time_t renew = time(nullptr) + kRenewDays * kDayS;
  if (X509_cmp_time(X509_get0_notAfter(certificate), &renew) <= 0) {
    return absl::StrCat("made again: it was valid for less than ", kRenewDays, " days");
  }
  for (const std::string& address : addresses) {
    if (!Holds(certificate, address)) return "made again: it did not hold the address " + address;
  }
  return kThereAlready;
}

absl::StatusOr<std::string> CertificateAuthority::Issue(const std::string& folder, const std::string& name,
                                                        const std::vector<std::string>& addresses) const {
  RETURN_IF_ERROR(CheckCertificateName(name, addresses));
  const std::string certificate_path = Path(folder, name + ".pem");
  const std::string key_path = Path(folder, name + ".key");
  std::string done = Judge(certificate_path, key_path, addresses);
  if (done == kThereAlready) return done;

  std::string reached_at = absl::StrCat("DNS:", name, ",DNS:localhost,IP:127.0.0.1,IP:::1");
  for (const std::string& address : addresses) {
    absl::StrAppend(&reached_at, IsIpAddress(address) ? ",IP:" : ",DNS:", address);
  }
  const CertificateAndKey made = NewCertificate(name, kLeafDays);
  if (!Sign(made.certificate.get(), own_.certificate.get(), own_.key.get(),
            {{NID_basic_constraints, "critical,CA:FALSE"},
             {NID_key_usage, "critical,digitalSignature"},
             {NID_ext_key_usage, "serverAuth,clientAuth"},
             {NID_subject_alt_name, reached_at}})) {
    return absl::InternalError(absl::StrCat("OpenSSL could not make the certificate of ", name));
  }
  RETURN_IF_ERROR(Write(made, certificate_path, key_path));
  return done;
}

namespace {

constexpr const char* kCertsExamples = R"(Examples:
  tributary certs --out certs --name aggregator=10.0.0.1 --name north --name south
  tributary certs --out certs --name hub=10.0.0.1,hub.lan       reached at either, or as hub

Makes ca.pem, ca.key and for each name NAME.pem, NAME.key (EC P-256, keys readable by the owner only). Files
that are valid and hold the addresses are left alone, so that names can be added later. A node's name
must be the name in its certificate. An aggregator needs the addresses at which others reach it. For tests, demos and closed networks: a
board gets ca.pem and its own two files, never ca.key.)";

struct CertsArguments {
  std::string out;
  std::vector<std::string> names;  // NAME or NAME=ADDRESS,ADDRESS…
};

struct Request {
  std::string name;
  std::vector<std::string> addresses;
};

// All are checked before anything is made.
absl::StatusOr<std::vector<Request>> Requests(const std::vector<std::string>& names) {
  std::vector<Request> requests;
  for (const std::string& text : names) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    Request request{parts.first, {}};
    if (text.size() > parts.first.size()) request.addresses = absl::StrSplit(parts.second, ',');
    if (absl::Status status = CheckCertificateName(request.name, request.addresses); !status.ok()) {
      return UsageError(std::string(status.message()));
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

absl::Status Issue(const CertsArguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<Request> requests, Requests(arguments.names));
  ASSIGN_OR_RETURN(const CertificateAuthority authority, CertificateAuthority::Open(arguments.out));
  const std::string folder = runtime::Printable(arguments.out);
  fmt::print("{}/ca.pem: {}\n", folder, authority.made() ? "made" : kThereAlready);
  for (const auto& [name, addresses] : requests) {
    ASSIGN_OR_RETURN(const std::string done, authority.Issue(arguments.out, name, addresses));
    fmt::print("{}/{}.pem: {}\n", folder, name, done);
  }
  return absl::OkStatus();
}

}  // namespace

void AddCertsCommand(Commands& program) {
  auto [command, arguments] = program.Add<CertsArguments>(
      "certs", "Make a small certificate authority and certificates for mutual TLS", Issue);
  command.Text("--out", arguments.out, "FOLDER", "Folder for the files; it is made if it is absent")
      ->required();
  command
      .Texts("--name", arguments.names, "NAME[=ADDRESS,…]",
             "Name of a node, aggregator or client, and its addresses; repeat for more")
      ->required();
  command.Examples(kCertsExamples);
}

}  // namespace tributary::cli
