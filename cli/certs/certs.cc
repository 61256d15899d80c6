#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/certs/certificate_authority.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr const char* kCertsExamples = R"(Examples:
  tributary certs --out certs --name aggregator=10.0.0.1 --name north --name south
  tributary certs --out certs --name hub=10.0.0.1,hub.lan       reached at either, or as hub

Makes ca.pem, ca.key and for each name NAME.pem, NAME.key (EC P-256, keys readable by the owner only). Files
that are valid and hold the addresses are left alone, so that names can be added later. A node is called what its certificate is
called; the addresses are those under which others reach it, for an aggregator. For tests, demos and closed networks: a
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
  std::printf("%s/ca.pem: %s\n", arguments.out.c_str(), authority.made() ? "made" : "there already");
  for (const auto& [name, addresses] : requests) {
    ASSIGN_OR_RETURN(const bool made, authority.Issue(arguments.out, name, addresses));
    std::printf("%s/%s.pem: %s\n", arguments.out.c_str(), name.c_str(), made ? "made" : "there already");
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
