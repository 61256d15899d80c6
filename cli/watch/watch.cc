#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/watch/watch_session.h"
#include "core/runtime/clock.h"
#include "core/runtime/file.h"
#include "core/runtime/process.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kWatchExamples = R"(Examples:
  tributary watch lab                                    live table, until Ctrl-C; with one site, no name is needed
  tributary watch room --truth room:seed=1 --seconds 20 --summary out.json
  tributary watch lab --json --rate 10 | jq .slot.means  ten slots a second, one line each

--json prints each slot that arrives as one line; docs/api.md has its keys. --summary covers every slot that arrived.)";

struct WatchArguments {
  ConnectionArguments connection;
  WatchSession::Options session;
  std::string truth;
  std::string summary;
};

// Redraws in place on a terminal; elsewhere a line of figures each second.
class Screen {
 public:
  explicit Screen(bool quiet) : quiet_(quiet), terminal_(!quiet && isatty(STDOUT_FILENO) != 0) {
    if (terminal_) std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  ~Screen() {
    if (terminal_) std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(const WatchView& view, const Truth* truth) {
    if (quiet_) return;
    if (terminal_) {
      std::string frame = "\x1b[H";
      for (const std::string& line : TableLines(view, truth)) frame += line + "\x1b[K\n";
      frame += "\x1b[J";
      std::fputs(frame.c_str(), stdout);
    } else if (view.figures.seconds >= next_line_s_) {
      std::printf("%s\n", FiguresText(view).c_str());
      next_line_s_ = view.figures.seconds + 1;
    }
    std::fflush(stdout);
  }

 private:
  const bool quiet_;
  const bool terminal_;
  double next_line_s_ = 0;
};

// Ctrl-C and SIGTERM end the watch in an orderly way; they are blocked in all threads and asked for here.
// True if one came.
bool WaitForSignal(std::int64_t ns) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

absl::Status Watch(const WatchArguments& arguments) {
  runtime::BlockSignals();
  WatchSession::Options options = arguments.session;
  std::unique_ptr<Truth> truth;
  if (!arguments.truth.empty()) {
    auto opened = OpenTruth(arguments.truth);
    if (!opened.ok()) return opened.status();
    truth = *std::move(opened);
  }
  if (options.watch.site.empty()) {
    const auto nodes =
        CallAggregator(arguments.connection, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest());
    if (!nodes.ok()) return nodes.status();
    auto site = OnlySite(*nodes);
    if (!site.ok()) return site.status();
    options.watch.site = *std::move(site);
  }
  const auto channel = Connect(arguments.connection);
  if (!channel.ok()) return channel.status();

  constexpr std::int64_t kFrameNs = 100'000'000;
  constexpr std::int64_t kFirstSlotNs = 15'000'000'000;
  const runtime::SystemClock clock;
  const std::int64_t started_ns = clock.SteadyNs();
  WatchSession session(options, *channel, truth.get(), clock);
  {
    Screen screen(options.print_slots);
    while (!session.done() && std::ferror(stdout) == 0 && !WaitForSignal(kFrameNs)) {
      const auto view = session.View();
      if (view) {
        screen.Show(*view, truth.get());
      } else if (options.seconds > 0 && clock.SteadyNs() - started_ns >= kFirstSlotNs) {
        break;
      }
    }
  }
  session.Stop();
  if (absl::Status status = session.status(); !status.ok()) return FromPeer(status, arguments.connection);

  const auto view = session.View();
  const std::string summary = FiguresLine(view ? view->figures : WatchFigures());
  if (!options.print_slots) std::printf("%s\n", summary.c_str());
  if (!arguments.summary.empty()) {
    if (absl::Status status = WriteOutput(arguments.summary, summary + "\n"); !status.ok()) return status;
  }
  if (!view && options.seconds > 0) {
    return absl::UnavailableError("site " + options.watch.site + " fused nothing within 15 s");
  }
  return absl::OkStatus();
}

}  // namespace

void AddWatchCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<WatchArguments>("watch", "Show the fused estimates of a site, live", Watch);
  WatchSession::Options& session = arguments.session;
  command.Connection(arguments.connection);
  command.Text("site,--site", session.watch.site, "SITE",
               "Name of the site; not needed if the aggregator has only one");
  command.Json(session.print_slots, "Print one line of JSON per slot instead of the table");
  command.Number("--seconds", session.seconds, "N", "Stop N seconds after the first slot (0 = never)");
  command.Number("--rate", session.watch.max_rate_hz, "HZ",
                 "Show at most HZ slots per second (0 = every slot)");
  command.Text("--truth", arguments.truth, "room:seed=N|FILE",
               "True positions to measure errors against: room:seed=N, or a CSV file of motion capture");
  command.Text("--summary", arguments.summary, "FILE", "Write the final figures to FILE, as JSON");
  command.Examples(kWatchExamples);
}

}  // namespace tributary::cli
