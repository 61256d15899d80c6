#include "cli/run_watch.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "cli/aggregator_call.h"
#include "cli/connection.h"
#include "cli/run_messages.h"
#include "core/runtime/service.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary {
namespace {

constexpr const char* kExamples = R"(Examples:
  tributary run watch letters                     a line per round, until the run has ended
  tributary run watch letters --json | jq .loss   one object per round

A round that is evaluated after it was committed is shown again; after the last one this waits for its evaluation. Ends
with 0 when the run has finished, with 1 when it was stopped or failed.)";

struct Arguments {
  ConnectionArguments connection;
  std::string run;
  std::uint32_t after = 0;
  bool json = false;
};

// What changes between rounds stands in one line that is overwritten.
class Screen {
 public:
  explicit Screen(bool json) : json_(json), terminal_(!json && isatty(STDOUT_FILENO) != 0) {}

  void Show(const v1::WatchRunResponse& response) {
    if (!json_ && !std::exchange(begun_, true)) std::printf("%s\n", RoundHeading().c_str());
    if (terminal_) std::fputs("\r\x1b[K", stdout);
    for (const v1::Round& round : response.rounds()) {
      std::printf("%s\n", json_ ? RoundJson(round).dump().c_str() : RoundLineText(round).c_str());
    }
    if (terminal_) std::fputs(RunSummary(response.run()).c_str(), stdout);
    std::fflush(stdout);
  }

  void End(const v1::Run& run) const {
    if (json_) return;
    std::printf("%s%s\n", terminal_ ? "\r\x1b[K" : "", RunSummary(run).c_str());
  }

 private:
  const bool json_;
  const bool terminal_;
  bool begun_ = false;
};

absl::StatusOr<v1::Run> Watch(const Arguments& arguments) {
  const auto channel = Connect(arguments.connection);
  if (!channel.ok()) return channel.status();
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run(arguments.run);
  request.set_after_round(arguments.after);
  const auto stub = v1::RunService::NewStub(*channel);
  const auto reader = stub->WatchRun(&context, request);
  Screen screen(arguments.json);
  v1::WatchRunResponse response;
  v1::Run last;
  while (reader->Read(&response)) {
    screen.Show(response);
    last = response.run();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return FromPeer(status, arguments.connection.aggregator);
  screen.End(last);
  return last;
}

}  // namespace

void AddRunWatchCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand("watch", "Follow a run's rounds until it has ended");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("run", arguments->run, "Its name")->required();
  command->add_option("--after", arguments->after, "Leave out rounds up to this one");
  command->add_flag("--json", arguments->json, "One JSON object per round");
  command->footer(kExamples);
  command->callback([arguments, &exit_code] {
    const absl::StatusOr<v1::Run> run = Watch(*arguments);
    if (!run.ok()) {
      exit_code = ReportFailure("run watch", run.status());
    } else {
      exit_code = run->state() == v1::RUN_STATE_FINISHED ? kExitOk : kExitFailure;
    }
  });
}

}  // namespace tributary
