#include <cstdint>
#include <iostream>
#include <string>

#include "cli/certificate_expiry.h"
#include "cli/commands.h"
#include "cli/watch/node_pages.h"
#include "cli/watch/node_tables.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::cli {
namespace {

struct StatusArguments {
  ConnectionArguments connection;
  std::string site;
  bool json = false;
};

absl::Status Status(const StatusArguments& arguments) {
  std::string certificate_pem;
  const runtime::SystemClock clock;
  ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes,
                   AllNodes(arguments.connection, arguments.site, clock, &certificate_pem));
  const std::int64_t now_ns = clock.UnixNs();
  std::cout << (arguments.json
                    ? wire::MessageJson(nodes) + "\n"
                    : NodesText(nodes, now_ns) + ConditionsText(nodes, now_ns) + LearnersText(nodes));
  // Not on standard output, which programs read.
  for (const std::string& warning :
       ExpiryWarnings(arguments.connection, certificate_pem, now_ns / 1'000'000'000)) {
    std::cerr << "tributary status: warning: " << runtime::Printable(warning) << ". " << config::kExpiryRemedy
              << ".\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddStatusCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<StatusArguments>("status", "List the nodes that an aggregator knows", Status);
  command.Connection(arguments.connection);
  command.Text("--site", arguments.site, "SITE", "List only the nodes of this site");
  command.Json(arguments.json, "Print JSON instead of the table");
  command.Examples(
      "Example:\n  tributary status --site lab --json | jq '.nodes[] | select(.connected | not)'");
}

}  // namespace tributary::cli
