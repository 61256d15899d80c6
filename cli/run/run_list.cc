#include "cli/run/run_list.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/aggregator_call.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/runtime/service.h"
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
  std::string table = fmt::format("{:<24} {:<9} {:<13} {:>9} {:>7} {:>12}  {}\n", "RUN", "STATE", "STRATEGY",
                                  "ROUNDS", "NODES", "PARAMETERS", "MESSAGE");
  for (const v1::Run& run : response.runs()) {
    table += fmt::format("{:<24} {:<9} {:<13} {:>9} {:>7} {:>12}  {}\n", wire::PeerText(run.name()),
                         RunStateName(run.state()), wire::PeerText(run.strategy()),
                         fmt::format("{}/{}", run.committed_rounds(), run.rounds()),
                         fmt::format("{}/{}", run.connected_nodes(), run.joined_nodes()), run.element_count(),
                         wire::PeerText(run.message()));
  }
  std::fputs(table.c_str(), stdout);
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

void AddRunListCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<RunListArguments>();
  CLI::App* command = parent.add_subcommand("list", "List an aggregator's runs");
  AddConnectionOptions(*command, arguments->connection);
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer(
      "Example:\n  tributary run list --json | jq '.runs[] | select(.state == \"RUN_STATE_RUNNING\")'");
  command->callback([arguments, &exit_code] {
    const absl::Status status = List(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("run list", status);
  });
}

}  // namespace tributary::cli
