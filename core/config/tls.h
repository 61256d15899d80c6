// Certificates for mutual TLS, read and checked. The gRPC credentials are made where gRPC is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/config/revocation_list.h"

namespace tributary::config {

struct TlsMaterial {
  std::string certificate_pem;  // this process's chain, leaf first
  std::string key_pem;
  std::string ca_pem;  // whom to trust; while a CA is replaced, the old one and the new
  std::string name;    // the common name of the leaf certificate: the process's identity
  std::int64_t expires_unix_s = 0;
  std::int64_t ca_expires_unix_s = 0;  // the CA that expires first
};

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string ca;
  std::string crl = {};  // empty: none

  bool operator==(const TlsFiles&) const = default;
};

// What a process does with its certificate. A certificate without extended key usages may do both.
struct TlsUses {
  bool server = false;
  bool client = false;

  bool operator==(const TlsUses&) const = default;
};
// Nodes and commands.
inline constexpr TlsUses kClientOnly{.server = false, .client = true};

// Reads [tls] certificate, key, ca; all three or none, as ConfigSection::File. Absent: nullopt. `lists`:
// reads crl too.
std::optional<TlsFiles> ReadTlsFiles(const ConfigSection& tls, bool lists = false);

// Errors begin with the file: NotFound or PermissionDenied; InvalidArgument if a file is not PEM, the key
// does not fit the certificate, the certificate is not signed by a CA of the file or has expired, or it may
// not be used so (with the remedy). Several faults: InvalidArgument with a line for each.
absl::StatusOr<TlsMaterial> LoadTls(const TlsFiles& files, TlsUses uses = {});

// When the first certificate of a PEM text expires, s since 1970. InvalidArgument if there is none.
absl::StatusOr<std::int64_t> CertificateExpiry(std::string_view pem);

// The common name of the first certificate of a PEM text; empty if it has none.
std::string CertificateName(std::string_view pem);

// Reads files.crl. Errors begin with the file: those of reading and of RevocationList::Parse.
absl::StatusOr<RevocationList> LoadRevocations(const TlsFiles& files, const TlsMaterial& material);

// What the files of [tls] hold.
struct LoadedTls {
  TlsMaterial material;
  RevocationList revoked = {};
};

// Loads the files of [tls], with the list, and records what is wrong with them at their keys. `names`
// are the keys and values by which this process calls itself to an aggregator: each must be the certificate's
// common name, which is what an aggregator compares. Nothing if there is a fault.
using NamedKey = std::pair<std::string_view, std::string_view>;  // key, value
std::optional<LoadedTls> PrepareTls(const ConfigFile& file, const TlsFiles& files, TlsUses uses,
                                    std::initializer_list<NamedKey> names);

}  // namespace tributary::config
