// Certificates for tests of mutual TLS, made by the command line as operators do.
#pragma once

#include <string>
#include <vector>

#include "core/config/tls.h"
#include "tests/support/process.h"

namespace tributary::testing {

// An authority in the folder's `authority`, with a certificate for each name. "aggregator" and names with
// addresses, "hub=10.0.0.1", are servers; "child" is an aggregator with a parent; the others are clients.
// Throws std::runtime_error if it cannot be made.
class Certificates {
 public:
  Certificates(const ScratchFolder& folder, const std::string& authority,
               const std::vector<std::string>& names);

  // Makes those again that are revoked, absent or of another use.
  void Make(const std::vector<std::string>& names) const;
  // Makes crl.pem, with all certificates of these names.
  void Revoke(const std::vector<std::string>& names) const;

  // A file of it: "ca.pem", "crl.pem", "NAME.pem", "NAME.key".
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // The [tls] table of a daemon's configuration.
  std::string Table(const std::string& name) const;
  // The options of a command.
  std::vector<std::string> Options(const std::string& name) const;
  config::TlsMaterial Material(const std::string& name) const;

 private:
  void Run(const std::vector<std::string>& arguments) const;

  const ScratchFolder& folder_;
  std::string path_;
};

}  // namespace tributary::testing
