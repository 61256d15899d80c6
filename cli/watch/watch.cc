#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/watch/watch_statistics.h"
#include "core/link/watcher.h"
#include "core/runtime/clock.h"
#include "core/runtime/elapsed.h"
#include "core/runtime/mutex.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/truth/truth.h"
#include "core/wire/convert.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kWatchExamples = R"(Examples:
  tributary watch lab                                    live table, until Ctrl-C; with one site, no name is needed
  tributary watch room --truth room:seed=1 --seconds 20 --summary out.json
  tributary watch lab --json --rate 10 | jq .slot.means  ten slots a second, one line each

--json prints each slot that arrives as one line; docs/api.md has its keys. --summary covers every slot that arrived.
If the aggregator goes away, this tries again; standard error says so, and when it is back.)";

// A watch under way: one thread reads and counts every slot, any other looks now and then.
class WatchSession {
 public:
  struct Options {
    link::WatchOptions watch;
    double seconds = 0;        // from the first slot; 0: until stopped
    double window_s = 0;       // figures of stretches of the site's time; 0: none
    bool print_slots = false;  // each slot as a line of JSON on standard output
    // Says on standard error, by this name, that the aggregator is away or back; empty: the table shows it.
    std::string aggregator;
  };

  WatchSession(Options options, std::shared_ptr<grpc::Channel> channel, truth::Truth truth)
      : options_(std::move(options)),
        channel_(std::move(channel)),
        statistics_(std::move(truth), options_.window_s) {
    latest_.site.name = options_.watch.site;
    thread_ = std::jthread([this] { Run(); });
  }
  ~WatchSession() { Stop(); }

  // The session has ended by itself: its time is over, or it failed.
  bool done() const {
    const runtime::MutexLock lock(mutex_);
    // Also where no slot comes any more to end the session.
    return status_.has_value() || TimeIsOver(clock_.SteadyNs());
  }

  void Stop() {
    enough_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  // Valid once the session has ended.
  absl::Status status() const {
    const runtime::MutexLock lock(mutex_);
    return status_.value_or(absl::OkStatus());
  }

  std::vector<WindowFigures> Windows() const {
    const runtime::MutexLock lock(mutex_);
    return statistics_.windows();
  }

  // Empty until the first slot has come.
  std::optional<WatchView> View() const {
    const runtime::MutexLock lock(mutex_);
    if (first_steady_ns_ == 0) return std::nullopt;
    WatchView view = latest_;
    view.figures = statistics_.figures();
    return view;
  }

 private:
  void Run();
  void SayLink(const absl::Status& link);
  void Take(const wire::WatchedSlot& slot, const wire::SiteDescription& site);
  bool TimeIsOver(std::int64_t steady_ns) const REQUIRES(mutex_) {
    return options_.seconds > 0 && first_steady_ns_ > 0 &&
           static_cast<double>(steady_ns - first_steady_ns_) >= 1e9 * options_.seconds;
  }

  const Options options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const runtime::SystemClock clock_;
  std::stop_source enough_;
  bool away_ = false;  // the own thread's

  mutable runtime::Mutex mutex_;
  WatchStatistics statistics_ GUARDED_BY(mutex_);
  WatchView latest_ GUARDED_BY(mutex_);  // without figures
  std::int64_t first_steady_ns_ GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> status_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last: it uses everything above
};

void WatchSession::Run() {
  const auto take = std::bind_front(&WatchSession::Take, this);
  const auto say_link = std::bind_front(&WatchSession::SayLink, this);
  const absl::Status status = link::WatchSlots(channel_, options_.watch, enough_.get_token(), take, say_link);
  const runtime::MutexLock lock(mutex_);
  status_ = status;
}

void WatchSession::SayLink(const absl::Status& link) {
  const std::string note =
      link.ok() ? ""
                : absl::StrCat("away (", runtime::Printable(std::string(link.message())), "), trying again");
  {
    const runtime::MutexLock lock(mutex_);
    latest_.note = note.empty() ? "" : "aggregator " + note;
  }
  if (!options_.aggregator.empty() && (!link.ok() || away_)) {
    std::fprintf(stderr, "tributary watch: %s is %s\n", runtime::Printable(options_.aggregator).c_str(),
                 link.ok() ? "back" : note.c_str());
  }
  away_ = !link.ok();
}

void WatchSession::Take(const wire::WatchedSlot& slot, const wire::SiteDescription& site) {
  const std::int64_t unix_ns = clock_.UnixNs();
  const std::int64_t steady_ns = clock_.SteadyNs();
  {
    const runtime::MutexLock lock(mutex_);
    if (first_steady_ns_ == 0) first_steady_ns_ = steady_ns;
    if (TimeIsOver(steady_ns)) {
      enough_.request_stop();
      return;
    }
    statistics_.Add(slot, site, unix_ns, steady_ns);
    latest_.slot = slot;
    latest_.site = site;
    latest_.latency_us = 1e-3 * static_cast<double>(runtime::ElapsedNs(slot.captured_unix_ns, unix_ns));
  }
  if (options_.print_slots) {
    const std::string line = wire::MessageJson(wire::SlotMessage(site, slot, slot.skipped_slots));
    // At once: behind a pipe a slow rate would else stand in the buffer. A reader that has gone ends the
    // watch.
    if (std::printf("%s\n", line.c_str()) < 0 || std::fflush(stdout) != 0) enough_.request_stop();
  }
}

struct WatchArguments {
  ConnectionArguments connection;
  WatchSession::Options session;
  std::string truth;
  std::string summary;
};

bool DrawsTable(const WatchSession::Options& options) {
  return !options.print_slots && isatty(STDOUT_FILENO) != 0;
}

// Redraws in place on a terminal; elsewhere a line of figures each second.
class Screen {
 public:
  explicit Screen(const WatchSession::Options& options)
      : quiet_(options.print_slots), terminal_(DrawsTable(options)) {
    if (terminal_) std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  ~Screen() {
    if (terminal_) std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(WatchView view, const truth::Truth& truth) {
    if (quiet_) return;
    const double elapsed_s = view.figures.seconds - second_.seconds;
    if (elapsed_s >= 1) {
      recent_fused_per_s_ = static_cast<double>(view.figures.fused - second_.fused) / elapsed_s;
      second_ = view.figures;
    }
    view.fused_per_s = second_.seconds > 0 ? recent_fused_per_s_ : view.figures.fused_per_s;
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
  WatchFigures second_;  // when the last full second was shown
  double recent_fused_per_s_ = 0;
  double next_line_s_ = 0;
};

absl::StatusOr<truth::Truth> TruthOf(const std::string& description) {
  absl::StatusOr<truth::Truth> truth = truth::OpenTruth(description);
  // What is typed is at fault, not a file.
  if (!truth.ok() && truth::IsSimulation(description)) {
    return UsageError(absl::StrCat("truth: ", truth.status().message()));
  }
  return truth;
}

absl::Status Watch(const WatchArguments& arguments) {
  runtime::BlockSignals();
  RETURN_IF_ERROR(CheckOutput(arguments.summary));
  WatchSession::Options options = arguments.session;
  truth::Truth truth;
  if (!arguments.truth.empty()) {
    ASSIGN_OR_RETURN(truth, TruthOf(arguments.truth));
  }
  if (options.watch.site.empty()) {
    ASSIGN_OR_RETURN(
        const auto nodes,
        CallAggregator(arguments.connection, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest()));
    ASSIGN_OR_RETURN(options.watch.site, OnlySite(nodes));
  }
  ASSIGN_OR_RETURN(const auto channel, Connect(arguments.connection));
  if (!DrawsTable(options)) options.aggregator = arguments.connection.aggregator;

  constexpr std::int64_t kFirstSlotNs = 15'000'000'000;
  const runtime::SystemClock clock;
  const std::int64_t started_ns = clock.SteadyNs();
  WatchSession session(options, channel, truth);
  bool waited_enough = false;  // for the first slot
  {
    Screen screen(options);
    bool hung_up = false;
    const auto show = [&] {
      if (hung_up || session.done() || std::ferror(stdout) != 0) return true;
      const auto view = session.View();
      if (view) screen.Show(*view, truth);
      waited_enough = !view && options.seconds > 0 && clock.SteadyNs() - started_ns >= kFirstSlotNs;
      return waited_enough;
    };
    runtime::RunUntilStopped([&hung_up] { hung_up = true; }, [] { return true; }, show, [] {});
  }
  session.Stop();
  if (absl::Status status = session.status(); !status.ok()) return FromPeer(status, arguments.connection);

  const auto view = session.View();
  const std::string summary = FiguresLine(view ? view->figures : WatchFigures(), session.Windows());
  if (!options.print_slots) std::printf("%s\n", summary.c_str());
  if (!arguments.summary.empty()) {
    RETURN_IF_ERROR(WriteOutput(arguments.summary, summary + "\n"));
  }
  if (waited_enough) {
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
  command.Number("--seconds", session.seconds, "N",
                 "Stop N seconds after the first slot (0 = never); fail if none comes within 15 s");
  command.Number("--rate", session.watch.max_rate_hz, "HZ",
                 "Show at most HZ slots per second (0 = every slot)");
  command.Text(
      "--truth", arguments.truth, "room:seed=N|generator:seed=N,rate_hz=HZ|FILE",
      "Truth to measure errors against: the simulated room's users or emitters, or a CSV file of motion "
      "capture");
  command.Number(
      "--window", session.window_s, "S",
      "With --truth: in the final figures also errors of each S seconds of the site's time (0 = none)");
  command.Text("--summary", arguments.summary, "FILE", "Write the final figures to FILE, as JSON");
  command.Examples(kWatchExamples);
}

}  // namespace tributary::cli
