#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "absl/strings/escaping.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
#include "cli/table.h"
#include "core/wire/message_json.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

struct RunShowArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

void PrintText(const v1::GetRunResponse& response) {
  Table table({Left("NODE"), Left("STATE"), Right("SAMPLES"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Right("DECLINED"), Left("LAST REFUSAL")});
  for (const v1::Participant& each : response.participants()) {
    table.Add(each.node(), ParticipantState(each), each.sample_count(), each.last_round(),
              each.accepted_updates(), each.refused_updates(), each.dropped_rounds(), each.declined_tasks(),
              each.last_refusal());
  }
  std::string text =
      fmt::format("{}\nmodel {}\n\n{}\n{}\n", RunSummary(response.run()),
                  absl::BytesToHexString(response.run().model_sha256()), table.Text(), RoundHeading());
  for (const v1::Round& round : response.history()) text += RoundLineText(round) + "\n";
  std::fputs(text.c_str(), stdout);
}

absl::Status Show(const RunShowArguments& arguments) {
  v1::GetRunRequest request;
  request.set_run(arguments.run);
  const auto response = CallAggregator(arguments.connection, &v1::RunService::Stub::GetRun, request);
  if (!response.ok()) return response.status();
  if (arguments.json) {
    std::printf("%s\n", wire::MessageJson(*response).c_str());
  } else {
    PrintText(*response);
  }
  return absl::OkStatus();
}

}  // namespace

void AddRunShowCommand(Commands& run) {
  auto [command, arguments] =
      run.Add<RunShowArguments>("show", "Show a run: where it stands, its nodes, its rounds", Show);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Json(arguments.json, "Print one JSON object, with the configuration of the run");
  command.Examples("Example:\n  tributary run show letters --json | jq '.history[].loss'");
}

}  // namespace tributary::cli
