#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/certs/certificate_authority.h"
#include "cli/certs/revoked_serials.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr const char* kCertsExamples = R"(Examples:
  tributary certs --out certs --server aggregator=10.0.0.1 --name north --name south
  tributary certs --out certs --server hub=10.0.0.1,hub.lan       reached at either, or as hub
  tributary certs --out certs --child roof=10.0.0.2               an aggregator with a [parent]
  tributary certs revoke north --out certs                        the board north was stolen

Makes ca.pem, ca.key and for each name NAME.pem, NAME.key (EC P-256, keys readable by the owner only). Files
that are valid, for that use, and hold the addresses are left alone, so that names can be added later. An
aggregator that gets a further address keeps the earlier ones; its certificate and key are then new. A node's
name must be the name in its certificate. For tests, demos and closed networks: a board gets ca.pem and its own
two files, never ca.key. The daemons take new files without a restart. issued.txt says which certificates were made.)";

constexpr const char* kRevokeExamples = R"(Examples:
  tributary certs revoke north --out certs       then copy certs/crl.pem to the aggregator
  tributary certs revoke --out certs             only make the list valid for another year

Adds every certificate that was made for the names to crl.pem, signed by the CA. An aggregator whose [tls] names
that file as crl ends the calls of these certificates within a second, and admits them no more. The name itself
may have another certificate: make it with `tributary certs --name NAME --out certs`.)";

struct CertsArguments {
  std::string out;
  std::vector<std::string> names;
  std::vector<std::string> servers;   // NAME or NAME=ADDRESS,ADDRESS…
  std::vector<std::string> children;  // the same
  bool json = false;
};

struct RevokeArguments {
  std::string out;
  std::vector<std::string> names;
  bool json = false;
};

// Checks them, so that all are good before any is made.
absl::Status AddRequests(const std::vector<std::string>& texts, CertificateUse use,
                         std::vector<CertificateRequest>& requests) {
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    CertificateRequest request{.name = parts.first, .use = use};
    if (text.size() > parts.first.size()) request.addresses = absl::StrSplit(parts.second, ',');
    if (absl::Status status = CheckRequest(request); !status.ok()) {
      return UsageError(std::string(status.message()));
    }
    for (const CertificateRequest& earlier : requests) {
      if (earlier.name != request.name) continue;
      return UsageError(
          fmt::format("\"{}\" is named twice; say --child for a server that is also a client", request.name));
    }
    requests.push_back(std::move(request));
  }
  return absl::OkStatus();
}

absl::Status CheckRecord(const CertificateAuthority& authority) {
  ASSIGN_OR_RETURN(const std::string warning, authority.RecordWarning());
  if (!warning.empty()) fmt::print(stderr, "warning: {}\n", runtime::Printable(warning));
  return absl::OkStatus();
}

std::string FileIn(const std::string& folder, const std::string& name) {
  return fmt::format("{}/{}.pem", folder, name);
}

absl::Status IssueAll(const CertsArguments& arguments) {
  if (arguments.out.empty()) return UsageError("--out is required");
  std::vector<CertificateRequest> requests;
  RETURN_IF_ERROR(AddRequests(arguments.servers, CertificateUse::kServer, requests));
  RETURN_IF_ERROR(AddRequests(arguments.children, CertificateUse::kServerAndClient, requests));
  RETURN_IF_ERROR(AddRequests(arguments.names, CertificateUse::kClient, requests));
  if (requests.empty()) return UsageError("name at least one certificate with --server, --child or --name");
  ASSIGN_OR_RETURN(const CertificateAuthority authority, CertificateAuthority::Open(arguments.out));
  RETURN_IF_ERROR(CheckRecord(authority));
  for (const CertificateRequest& request : requests) RETURN_IF_ERROR(authority.CheckUse(request));
  const auto say = [&](const std::string& name, std::string_view done) {
    if (!arguments.json) fmt::print("{}: {}\n", runtime::Printable(FileIn(arguments.out, name)), done);
  };
  say("ca", authority.made() ? "made" : kThereAlready);
  auto made = nlohmann::ordered_json::array();
  for (const CertificateRequest& request : requests) {
    ASSIGN_OR_RETURN(const std::string done, authority.Issue(request));
    say(request.name, done);
    made.push_back({{"name", request.name}, {"file", FileIn(arguments.out, request.name)}, {"result", done}});
  }
  if (arguments.json) {
    fmt::print("{}\n", wire::DumpJson({{"ca", FileIn(arguments.out, "ca")},
                                       {"ca_made", authority.made()},
                                       {"certificates", std::move(made)}}));
  }
  return absl::OkStatus();
}

absl::Status RevokeAll(const RevokeArguments& arguments) {
  ASSIGN_OR_RETURN(const CertificateAuthority authority, CertificateAuthority::OpenExisting(arguments.out));
  RETURN_IF_ERROR(CheckRecord(authority));
  ASSIGN_OR_RETURN(const std::vector<std::size_t> added, authority.Revoke(arguments.names));
  if (arguments.json) {
    auto revoked = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < added.size(); ++i)
      revoked.push_back({{"name", arguments.names[i]}, {"certificates", added[i]}});
    fmt::print("{}\n", wire::DumpJson({{"crl", fmt::format("{}/{}", arguments.out, RevokedSerials::kFile)},
                                       {"revoked", std::move(revoked)}}));
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string name = runtime::Printable(arguments.names[i]);
    fmt::print("{}: {}\n", name,
               added[i] == 0 ? "revoked already" : runtime::Counted(added[i], "certificate") + " revoked");
  }
  fmt::print("{}/{}: made, valid for a year; copy it to the aggregator\n", runtime::Printable(arguments.out),
             RevokedSerials::kFile);
  return absl::OkStatus();
}

}  // namespace

void AddCertsCommand(Commands& program) {
  auto [command, arguments] = program.Add<CertsArguments>(
      "certs", "Make a small certificate authority and certificates for mutual TLS", IssueAll);
  command.Text("--out", arguments.out, "FOLDER",
               "Required: folder for the files; it is made if it is absent");
  command.Texts("--server", arguments.servers, "NAME[=ADDRESS,…]",
                "Name of an aggregator and its addresses; it is also reached as localhost; repeat for more");
  command.Texts("--child", arguments.children, "NAME[=ADDRESS,…]",
                "The same for an aggregator that has a parent, and so is a client too");
  command.Texts("--name", arguments.names, "NAME",
                "Name of a node, viewer or operator: a client; repeat for more");
  command.Json(arguments.json);
  command.Examples(kCertsExamples);

  auto [revoke, revoked] = command.Below().Add<RevokeArguments>(
      "revoke", "Take certificates back: list them as revoked in crl.pem", RevokeAll);
  revoke.Texts("name", revoked.names, "NAME", "Names whose certificates are revoked; none: renew the list");
  revoke.Text("--out", revoked.out, "FOLDER", "Folder of the certificate authority")->required();
  revoke.Json(revoked.json);
  revoke.Examples(kRevokeExamples);
}

}  // namespace tributary::cli
