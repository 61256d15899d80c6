#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
#include "cli/table.h"
#include "core/wire/message_json.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

struct RunListArguments {
  ConnectionArguments connection;
  bool json = false;
};

void PrintTable(const v1::ListRunsResponse& response) {
  Table table({Left("RUN"), Left("STATE"), Left("STRATEGY"), Right("ROUNDS"), Right("NODES"),
               Right("PARAMETERS"), Left("MESSAGE")});
  for (const v1::Run& run : response.runs()) {
    table.Add(run.name(), RunStateName(run.state()), run.strategy(),
              fmt::format("{}/{}", run.committed_rounds(), run.rounds()),
              fmt::format("{}/{}", run.connected_nodes(), run.joined_nodes()), run.element_count(),
              run.message());
  }
  std::fputs(table.Text().c_str(), stdout);
}

absl::Status List(const RunListArguments& arguments) {
  const auto response =
      CallAggregator(arguments.connection, &v1::RunService::Stub::ListRuns, v1::ListRunsRequest());
  if (!response.ok()) return response.status();
  if (!arguments.json) {
    PrintTable(*response);
    return absl::OkStatus();
  }
  std::printf("%s\n", wire::MessageJson(*response).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddRunListCommand(Commands& run) {
  auto [command, arguments] = run.Add<RunListArguments>("list", "List an aggregator's runs", List);
  command.Connection(arguments.connection);
  command.Json(arguments.json);
  command.Examples(
      "Example:\n  tributary run list --json | jq '.runs[] | select(.state == \"RUN_STATE_RUNNING\")'");
}

}  // namespace tributary::cli
