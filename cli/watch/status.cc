#include <string>

#include "cli/commands.h"
#include "cli/watch/node_tables.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

struct StatusArguments {
  ConnectionArguments connection;
  std::string site;
  bool json = false;
};

absl::Status Status(const StatusArguments& arguments) {
  v1::ListNodesRequest request;
  request.set_site(arguments.site);
  return PrintAnswer(arguments.connection, arguments.json, &v1::FleetService::Stub::ListNodes, request,
                     [](const v1::ListNodesResponse& response) {
                       return NodesText(response, runtime::SystemClock().UnixNs()) + LearnersText(response);
                     });
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
