#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/link/channel.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kRunWatchExamples = R"(Examples:
  tributary run watch letters                               a line for each round, until the run has ended
  tributary run watch letters --json | jq '.rounds[].loss'  an object for each change of the run

A round that is evaluated after it was committed is shown again; after the last one this waits for its evaluation. If the
aggregator goes away, this tries again for up to a minute. Ends with 0 when the run has finished, with 1 when it was stopped
or failed.)";

constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kPause{200};

struct RunWatchArguments {
  ConnectionArguments connection;
  std::string run;
  std::uint32_t after = 0;
  bool json = false;
};

// What changes between rounds stands in one line that is overwritten.
class RunScreen {
 public:
  RunScreen(bool json, std::string aggregator)
      : json_(json), terminal_(!json && isatty(STDOUT_FILENO) != 0), aggregator_(std::move(aggregator)) {}

  void Show(const v1::WatchRunResponse& response) {
    if (std::exchange(away_, false)) SayLink("is back");
    if (json_) {
      std::cout << wire::MessageJson(response) << std::endl;
      return;
    }
    if (!std::exchange(begun_, true)) std::cout << RoundHeading() << "\n";
    std::cout << erase();
    for (const v1::Round& round : response.rounds()) std::cout << RoundLineText(round) << "\n";
    std::cout << ClusterNews(std::exchange(clusters_, response.run().clusters()), response.run());
    const bool pause_news = IsPauseNews(std::exchange(state_, response.run().state()), response.run());
    const std::string summary = RunSummary(response.run());
    if (terminal_) {
      std::cout << summary;
    } else if (pause_news || (response.run().state() == v1::RUN_STATE_WAITING && said_ != summary)) {
      std::cout << summary << "\n";
      said_ = summary;
    }
    std::cout << std::flush;
  }

  // Said once, until something comes again.
  void Away(const std::string& reason) {
    if (std::exchange(away_, true)) return;
    SayLink(absl::StrCat("is away (", runtime::Printable(reason), "), trying again"));
  }

  void End(const v1::Run& run) const {
    if (!json_) std::cout << erase() << RunSummary(run) << "\n";
  }

 private:
  void SayLink(const std::string& what) const {
    std::cerr << erase() << "tributary run watch: " << runtime::Printable(aggregator_) << " " << what << "\n";
  }
  const char* erase() const { return terminal_ ? "\r\x1b[K" : ""; }

  const bool json_;
  const bool terminal_;
  const std::string aggregator_;
  std::string said_;            // the last line of a run that waits
  std::uint32_t clusters_ = 0;  // that were found last
  v1::RunState state_ = v1::RUN_STATE_UNSPECIFIED;
  bool begun_ = false;
  bool away_ = false;
};

absl::Status WatchRun(const RunWatchArguments& arguments) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(arguments.connection));
  const auto stub = v1::RunService::NewStub(channel);
  RunScreen screen(arguments.json, arguments.connection.aggregator);
  v1::WatchRunRequest request;
  request.set_run(arguments.run);
  request.set_after_round(arguments.after);
  v1::Run run;
  std::optional<std::chrono::steady_clock::time_point> lost;  // end of the last stream that said something
  for (;;) {
    grpc::ClientContext context;
    const auto reader = stub->WatchRun(&context, request);
    v1::WatchRunResponse response;
    bool heard = false;
    while (reader->Read(&response)) {
      screen.Show(response);
      for (const v1::Round& round : response.rounds()) {
        request.set_after_round(std::max(request.after_round(), round.round()));
      }
      run = response.run();
      heard = true;
    }
    grpc::Status status = reader->Finish();
    const auto now = std::chrono::steady_clock::now();
    if (heard) lost = now;
    if (status.ok() && HasEnded(run)) break;
    if (status.ok()) status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the aggregator ended the stream");
    // A run goes on by itself after its aggregator was started again, and so does who watches it.
    const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::CANCELLED;
    if (!away || !lost || now - *lost >= kPatience) return FromPeer(status, arguments.connection);
    screen.Away(status.error_message());
    std::this_thread::sleep_for(kPause);
    link::AwaitConnection(*channel);
  }
  screen.End(run);
  return AlreadyReported(run.state() == v1::RUN_STATE_FINISHED ? runtime::kExitOk : runtime::kExitFailure);
}

}  // namespace

void AddRunWatchCommand(Commands& run) {
  auto [command, arguments] =
      run.Add<RunWatchArguments>("watch", "Follow a run's rounds until it has ended", WatchRun);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Number("--after", arguments.after, "ROUND", "Leave out rounds up to this one");
  command.Json(arguments.json, "Print a JSON object for each change of the run");
  command.Examples(kRunWatchExamples);
}

}  // namespace tributary::cli
