#include "tests/support/certificates.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tributary::testing {

Certificates::Certificates(const ScratchFolder& folder, const std::string& authority,
                           const std::vector<std::string>& names)
    : path_(folder.Path(authority)) {
  std::vector<std::string> arguments = {"certs", "--out", path_};
  for (const std::string& name : names) arguments.insert(arguments.end(), {"--name", name});
  Process certs("tributary", arguments, folder.Path("certs.log"));
  if (certs.Wait(std::chrono::seconds(20)) != 0) {
    throw std::runtime_error("cannot make certificates: " + certs.Log());
  }
}

std::string Certificates::Table(const std::string& name) const {
  return fmt::format("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nca = \"{}\"\n", File(name + ".pem"),
                     File(name + ".key"), File("ca.pem"));
}

std::vector<std::string> Certificates::Options(const std::string& name) const {
  return {"--certificate", File(name + ".pem"), "--key", File(name + ".key"), "--ca", File("ca.pem")};
}

config::TlsMaterial Certificates::Material(const std::string& name) const {
  config::TlsMaterial material;
  material.ca_pem = ReadText(File("ca.pem"));
  material.key_pem = ReadText(File(name + ".key"));
  material.certificate_pem = ReadText(File(name + ".pem"));
  return material;
}

}  // namespace tributary::testing
