#include "cli/run/run_show.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
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

struct RunShowArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

void PrintText(const v1::GetRunResponse& response) {
  std::string text = fmt::format("{}\nmodel {}\n\n", RunSummary(response.run()),
                                 absl::BytesToHexString(response.run().model_sha256()));
  text += fmt::format("{:<24} {:<12} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8}  {}\n", "NODE", "STATE", "SAMPLES",
                      "LAST ROUND", "ACCEPTED", "REFUSED", "DROPPED", "DECLINED", "LAST REFUSAL");
  for (const v1::Participant& each : response.participants()) {
    text += fmt::format("{:<24} {:<12} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8}  {}\n",
                        wire::PeerText(each.node()), ParticipantState(each), each.sample_count(),
                        each.last_round(), each.accepted_updates(), each.refused_updates(),
                        each.dropped_rounds(), each.declined_tasks(), wire::PeerText(each.last_refusal()));
  }
  text += "\n" + RoundHeading() + "\n";
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

void AddRunShowCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<RunShowArguments>();
  CLI::App* command = parent.add_subcommand("show", "Show a run: where it stands, its nodes, its rounds");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("run", arguments->run, "Its name")->required();
  command->add_flag("--json", arguments->json, "As JSON, with its configuration");
  command->footer("Example:\n  tributary run show letters --json | jq '.history[].loss'");
  command->callback([arguments, &exit_code] {
    const absl::Status status = Show(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("run show", status);
  });
}

}  // namespace tributary::cli
