#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/link/channel.h"
#include "core/runtime/process.h"
#include "core/wire/message_json.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kRunWatchExamples = R"(Examples:
  tributary run watch letters                               a line per round, until the run has ended
  tributary run watch letters --json | jq '.rounds[].loss'  one object per change of the run

A round that is evaluated after it was committed is shown again; after the last one this waits for its evaluation. An
aggregator that goes away is waited for up to a minute. Ends with 0 when the run has finished, with 1 when it was stopped
or failed.)";

struct RunWatchArguments {
  ConnectionArguments connection;
  std::string run;
  std::uint32_t after = 0;
  bool json = false;
};

// What changes between rounds stands in one line that is overwritten.
class RunScreen {
 public:
  explicit RunScreen(bool json) : json_(json), terminal_(!json && isatty(STDOUT_FILENO) != 0) {}

  void Show(const v1::WatchRunResponse& response) {
    away_ = false;
    if (json_) {
      std::printf("%s\n", wire::MessageJson(response).c_str());
      std::fflush(stdout);
      return;
    }
    if (!std::exchange(begun_, true)) std::printf("%s\n", RoundHeading().c_str());
    if (terminal_) std::fputs("\r\x1b[K", stdout);
    for (const v1::Round& round : response.rounds()) std::printf("%s\n", RoundLineText(round).c_str());
    const std::string summary = RunSummary(response.run());
    if (terminal_) {
      std::fputs(summary.c_str(), stdout);
    } else if (response.run().state() == v1::RUN_STATE_WAITING && said_ != summary) {
      std::printf("%s\n", summary.c_str());
      said_ = summary;
    }
    std::fflush(stdout);
  }

  // Said once, until something comes again.
  void Away(const std::string& aggregator) {
    if (std::exchange(away_, true)) return;
    std::fprintf(stderr, "%stributary run watch: %s is away, trying again\n", terminal_ ? "\r\x1b[K" : "",
                 aggregator.c_str());
  }

  void End(const v1::Run& run) const {
    if (json_) return;
    std::printf("%s%s\n", terminal_ ? "\r\x1b[K" : "", RunSummary(run).c_str());
  }

 private:
  const bool json_;
  const bool terminal_;
  std::string said_;  // the last line of a run that waits
  bool begun_ = false;
  bool away_ = false;
};

// One run, over streams that may break.
class Follower {
 public:
  Follower(const RunWatchArguments& arguments, std::shared_ptr<grpc::Channel> channel)
      : channel_(std::move(channel)),
        stub_(v1::RunService::NewStub(channel_)),
        run_(arguments.run),
        after_(arguments.after),
        screen_(arguments.json) {}

  absl::Status Follow() {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run(run_);
    request.set_after_round(after_);
    const auto reader = stub_->WatchRun(&context, request);
    v1::WatchRunResponse response;
    bool heard = false;
    while (reader->Read(&response)) {
      screen_.Show(response);
      for (const v1::Round& round : response.rounds()) after_ = std::max(after_, round.round());
      last_ = response.run();
      heard = true;
    }
    const grpc::Status status = reader->Finish();
    if (heard) lost_ = std::chrono::steady_clock::now();
    if (status.ok() && !HasEnded(last_)) return absl::UnavailableError("the aggregator ended the stream");
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  // A run goes on by itself after its aggregator was started again, and so does who watches it.
  bool MayGoOn(const absl::Status& status) const {
    const bool lost = absl::IsUnavailable(status) || absl::IsCancelled(status);
    return lost && lost_ && std::chrono::steady_clock::now() - *lost_ < kPatience;
  }

  void Reconnect(const std::string& aggregator) {
    screen_.Away(aggregator);
    std::this_thread::sleep_for(kPause);
    link::AwaitConnection(*channel_);
  }

  const v1::Run& last() const { return last_; }
  const RunScreen& screen() const { return screen_; }

 private:
  static constexpr std::chrono::seconds kPatience{60};
  static constexpr std::chrono::milliseconds kPause{200};

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::RunService::Stub> stub_;
  const std::string run_;
  std::uint32_t after_;
  RunScreen screen_;
  v1::Run last_;
  std::optional<std::chrono::steady_clock::time_point> lost_;  // end of the last stream that said something
};

absl::Status WatchRun(const RunWatchArguments& arguments) {
  auto channel = Connect(arguments.connection);
  if (!channel.ok()) return channel.status();
  Follower follower(arguments, *std::move(channel));
  for (;;) {
    const absl::Status status = follower.Follow();
    if (status.ok()) break;
    if (!follower.MayGoOn(status)) return FromPeer(status, arguments.connection);
    follower.Reconnect(arguments.connection.aggregator);
  }
  follower.screen().End(follower.last());
  const bool finished = follower.last().state() == v1::RUN_STATE_FINISHED;
  return finished ? absl::OkStatus() : AlreadyReported(runtime::kExitFailure);
}

}  // namespace

void AddRunWatchCommand(Commands& run) {
  auto [command, arguments] =
      run.Add<RunWatchArguments>("watch", "Follow a run's rounds until it has ended", WatchRun);
  command.Connection(arguments.connection);
  command.Text("run", arguments.run, "RUN", "Name of the run")->required();
  command.Number("--after", arguments.after, "ROUND", "Leave out rounds up to this one");
  command.Json(arguments.json, "Print one JSON object per round");
  command.Examples(kRunWatchExamples);
}

}  // namespace tributary::cli
