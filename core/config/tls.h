// Certificates for mutual TLS, read and checked once at start. The gRPC credentials are made where gRPC is.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/config/config.h"

namespace tributary::config {

struct TlsMaterial {
  std::string certificate_pem;  // this process's chain, leaf first
  std::string key_pem;
  std::string ca_pem;  // whom to trust
  std::string name;    // the common name of the leaf certificate: the process's identity
};

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string ca;

  bool operator==(const TlsFiles&) const = default;
};

// Reads [tls] certificate, key, ca; all three or none, as ConfigSection::File. Absent: nullopt.
std::optional<TlsFiles> ReadTlsFiles(const ConfigSection& tls);

// Errors begin with the file: NotFound or PermissionDenied; InvalidArgument if a file is not PEM, the key
// does not fit the certificate, or the certificate is not signed by the CA or has expired (with the remedy).
// Several faults: InvalidArgument with a line for each.
absl::StatusOr<TlsMaterial> LoadTls(const TlsFiles& files);

// Loads the files of [tls] and records what is wrong with them at their keys. `names` are the keys and values
// by which this process calls itself to an aggregator: each must be the certificate's common name, which is
// what an aggregator compares. Nothing if there is a fault.
using NamedKey = std::pair<std::string_view, std::string_view>;  // key, value
std::optional<TlsMaterial> PrepareTls(const ConfigFile& file, const TlsFiles& files,
                                      std::initializer_list<NamedKey> names);

}  // namespace tributary::config
