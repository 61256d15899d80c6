#include "cli/certs.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/certificate_authority.h"
#include "cli/connection.h"
#include "core/runtime/service.h"

namespace tributary {
namespace {

constexpr const char* kExamples = R"(Examples:
  tributary certs --out certs --name aggregator --name north --name south

Makes ca.pem, ca.key and for each name NAME.pem, NAME.key (EC P-256, keys readable by the owner only). What exists and is
valid is left alone, so that names can be added later. A node's name is the name of its certificate. For tests, demos and
closed networks: keep ca.key off the boards.)";

struct Arguments {
  std::string out;
  std::vector<std::string> names;
};

absl::Status Issue(const Arguments& arguments) {
  const absl::StatusOr<CertificateAuthority> authority = CertificateAuthority::Open(arguments.out);
  if (!authority.ok()) return authority.status();
  std::printf("%s/ca.pem: %s\n", arguments.out.c_str(), authority->made() ? "made" : "there already");
  for (const std::string& name : arguments.names) {
    const absl::StatusOr<bool> made = authority->Issue(arguments.out, name);
    if (!made.ok()) return made.status();
    std::printf("%s/%s.pem: %s\n", arguments.out.c_str(), name.c_str(), *made ? "made" : "there already");
  }
  return absl::OkStatus();
}

}  // namespace

void AddCertsCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand("certs", "Make a small CA and certificates for mutual TLS");
  command->add_option("--out", arguments->out, "Folder, made if absent")->required()->type_name("DIR");
  command->add_option("--name", arguments->names, "Of a node, aggregator or client; may be repeated")
      ->required()
      ->type_name("NAME");
  command->footer(kExamples);
  command->callback([arguments, &exit_code] {
    const absl::Status status = Issue(*arguments);
    exit_code = status.ok() ? kExitOk : ReportFailure("certs", status);
  });
}

}  // namespace tributary
