#include "tests/support/certificates.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tributary::testing {

Certificates::Certificates(const ScratchFolder& folder, const std::string& authority,
                           const std::vector<std::string>& names)
    : folder_(folder), path_(folder.Path(authority)) {
  Make(names);
}

void Certificates::Make(const std::vector<std::string>& names) const {
  std::vector<std::string> arguments = {"certs", "--out", path_};
  for (const std::string& name : names) {
    const bool server = name == "aggregator" || name.find('=') != std::string::npos;
    arguments.push_back(name == "child" ? "--child" : server ? "--server" : "--name");
    arguments.push_back(name);
  }
  Run(arguments);
}

void Certificates::Revoke(const std::vector<std::string>& names) const {
  std::vector<std::string> arguments = {"certs", "revoke", "--out", path_};
  arguments.insert(arguments.end(), names.begin(), names.end());
  Run(arguments);
}

void Certificates::Run(const std::vector<std::string>& arguments) const {
  Process certs("tributary", arguments, folder_.Path("certs.log"));
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
