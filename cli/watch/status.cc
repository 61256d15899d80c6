#include <fmt/format.h>

#include <string>

#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

struct StatusArguments {
  ConnectionArguments connection;
  std::string site;
  bool json = false;
};

std::string NodesText(const v1::ListNodesResponse& response) {
  Table table({Left("SITE"), Left("NODE"), Left("STATE"), Right("LAST FRAME"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("MODEL"), Left("SOURCES")});
  const std::int64_t now_ns = runtime::SystemClock().UnixNs();
  for (const v1::Node& node : response.nodes()) {
    if (node.site().empty()) continue;  // it only learns: LearnersText
    const double age_s = 1e-9 * static_cast<double>(now_ns - node.last_frame_unix_ns());
    const std::string last = node.last_frame_unix_ns() == 0 ? "never" : fmt::format("{:.1f} s ago", age_s);
    table.Add(node.site(), node.name(), node.connected() ? "connected" : "away", last, node.accepted_frames(),
              node.refused_frames(), node.dropped_frames(), node.model_name() + " " + node.model_version(),
              absl::StrJoin(node.sources(), ", "));
  }
  return table.Text();
}

std::string LearnersText(const v1::ListNodesResponse& response) {
  Table table({Left("NODE"), Left("LEARNS IN"), Left("STATE"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("LAST REFUSAL")});
  for (const v1::Node& node : response.nodes()) {
    for (const v1::Learning& learning : node.learns()) {
      table.Add(node.name(), learning.run().empty() ? "waits for one" : learning.run(),
                learning.connected() ? "connected" : "away", learning.last_round(),
                learning.accepted_updates(), learning.refused_updates(), learning.dropped_rounds(),
                learning.last_refusal());
    }
  }
  return table.empty() ? "" : "\n" + table.Text();
}

absl::Status Status(const StatusArguments& arguments) {
  v1::ListNodesRequest request;
  request.set_site(arguments.site);
  return PrintAnswer(
      arguments.connection, arguments.json, &v1::FleetService::Stub::ListNodes, request,
      [](const v1::ListNodesResponse& response) { return NodesText(response) + LearnersText(response); });
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
