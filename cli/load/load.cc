#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/load/load_client.h"
#include "cli/load/load_echo.h"
#include "cli/load/load_server.h"
#include "core/link/spool/reconnect.h"
#include "core/runtime/latency.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

using nlohmann::json;

// Load and echo take turns, so that both see the same machine; the ratio is the median over the turns.
constexpr double kTurnS = 5;
constexpr std::chrono::milliseconds kEchoTurn{2500};
// Flat out the watcher takes a sample of the slots: it shares the cores.
constexpr double kFlatOutWatchHz = 100;
constexpr double kMostSlotsPerS = 2000;  // unless a rate is given

struct Options {
  LoadPlan plan;
  std::string http;
  std::string rate;  // empty: one slot in each of the site's, at most kMostSlotsPerS
  double seconds = 60;
  double deadline_ms = 50;
  bool as_json = false;
};

struct Measured {
  runtime::LatencyHistogram slot;
  runtime::LatencyHistogram echo_message;
  runtime::LatencyHistogram echo_burst;
  std::vector<double> p50_ratios;
  std::vector<double> p99_ratios;
  MetricSamples gained;  // by the aggregator's metrics in all turns of load
  std::vector<double> resident_bytes;
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

json Quantiles(const runtime::LatencyHistogram& latency) {
  const auto us = [&](double q) { return 1e-3 * static_cast<double>(latency.QuantileNs(q)); };
  return {{"p50", us(0.5)},
          {"p90", us(0.9)},
          {"p99", us(0.99)},
          {"max", 1e-3 * static_cast<double>(latency.max_ns())},
          {"count", latency.count()}};
}

// The counters of the aggregator, read before and after each turn. Without an address there are none.
class MetricsReader {
 public:
  explicit MetricsReader(const std::string& http) : http_(http) {}

  // Unavailable: it does not answer, or not within two seconds.
  absl::Status Begin() {
    if (http_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(before_, ReadMetrics(http_));
    return absl::OkStatus();
  }

  // Adds what was counted since then. A reading that fails is made up for by the next: the aggregator may be
  // away for a time.
  void End(Measured& measured) {
    if (http_.empty()) return;
    absl::StatusOr<MetricSamples> after = ReadMetrics(http_);
    if (!after.ok()) return;
    // A new process counts from 0.
    for (const auto& [name, value] : *after) {
      measured.gained[name] += value >= before_[name] ? value - before_[name] : value;
    }
    measured.resident_bytes.push_back((*after)["process_resident_memory_bytes"]);
    before_ = *std::move(after);
  }

 private:
  const std::string http_;
  MetricSamples before_;
};

// Until the time is over, stop is requested, or the aggregator refuses. Errors: as LoadClient::Run at the end
// of the last turn; all turns are in `measured` and in the client's counts.
absl::Status Measure(const LoadPlan& plan, double seconds, const EchoPeer& echo, LoadClient& client,
                     MetricsReader& metrics, const std::stop_token& stop, Measured& measured) {
  const EchoPeer::Load echo_load{
      plan.panels, client.message_bytes(),
      (plan.rate_hz > 0 ? plan.rate_hz : kMostSlotsPerS) / static_cast<double>(plan.frames_per_message)};
  const int turns = plan.rate_hz > 0 ? std::max(1, static_cast<int>(seconds / kTurnS)) : 1;
  const std::chrono::nanoseconds turn_time(static_cast<std::int64_t>(1e9 * seconds / turns));
  absl::Status ended;
  for (int turn = 0; turn < turns && !stop.stop_requested(); ++turn) {
    runtime::LatencyHistogram message, burst, slot;
    RETURN_IF_ERROR(echo.Run(echo_load, kEchoTurn, stop, message, burst));
    metrics.Begin().IgnoreError();
    ended = client.Run(turn_time, stop, slot);
    metrics.End(measured);
    const auto ratio = [&](double q) {
      return static_cast<double>(slot.QuantileNs(q)) / static_cast<double>(burst.QuantileNs(q));
    };
    if (slot.count() > 0 && burst.count() > 0) {
      measured.p50_ratios.push_back(ratio(0.5));
      measured.p99_ratios.push_back(ratio(0.99));
    }
    measured.slot.Merge(slot);
    measured.echo_message.Merge(message);
    measured.echo_burst.Merge(burst);
    if (!ended.ok() && !link::Reconnect::MayPass(ended)) break;
  }
  return ended;
}

// On a thread of its own, so that this one can wait for SIGINT and SIGTERM.
absl::Status MeasureUntilStopped(const LoadPlan& plan, double seconds, const EchoPeer& echo,
                                 LoadClient& client, MetricsReader& metrics, Measured& measured) {
  absl::Status ended;
  std::atomic<bool> finished = false;
  std::jthread turns([&](const std::stop_token& stop) {
    ended = Measure(plan, seconds, echo, client, metrics, stop, measured);
    finished = true;
  });
  runtime::RunUntilStopped([] {}, [] { return true; }, [&finished] { return finished.load(); }, [] {});
  turns.request_stop();
  turns.join();
  return ended;
}

json Report(const LoadPlan& plan, const LoadClient& client, const Measured& measured) {
  const LoadCounts& counts = client.counts();
  const bool every_slot_watched = plan.watch_rate_hz == 0;
  const std::uint64_t lost_frames = counts.frames_sent - counts.frames_acknowledged + counts.frames_refused;
  const std::uint64_t seen_slots = counts.slots_received + counts.slots_skipped;
  const std::uint64_t lost_slots =
      every_slot_watched && seen_slots < counts.slots_sent ? counts.slots_sent - seen_slots : 0;
  const auto per_second = [&counts](double amount) {
    return counts.sending_s > 0 ? amount / counts.sending_s : 0.0;
  };
  json report = {
      {"panels", plan.panels},
      {"users", plan.users},
      {"frames_per_message", plan.frames_per_message},
      {"message_bytes", client.message_bytes()},
      {"seconds", counts.sending_s},
      {"slots_per_s", per_second(static_cast<double>(counts.slots_sent))},
      {"sent_frames", counts.frames_sent},
      {"acknowledged_frames", counts.frames_acknowledged},
      {"refused_frames", counts.frames_refused},
      {"lost_frames", lost_frames},
      {"sent_slots", counts.slots_sent},
      {"received_slots", counts.slots_received},
      {"incomplete_slots", counts.slots_incomplete},
      {"skipped_slots", counts.slots_skipped},
      {"lost_slots", lost_slots},
      {"unsent_slots", counts.slots_unsent},
      {"reconnections", counts.reconnections},
      {"lost", lost_frames + lost_slots + counts.slots_unsent},
      {"latency_us", Quantiles(measured.slot)},
      {"latency_is",
       "from the stamp of a slot, before its first frame is written, to the fused slot's receipt by a "
       "watcher"},
      {"echo_us", {{"burst", Quantiles(measured.echo_burst)}, {"message", Quantiles(measured.echo_message)}}},
      {"echo_is",
       "raw TCP on loopback, process to process, epoll at both ends, same number of connections, bytes per "
       "message and messages per second as the load, in turns with it; burst: from the stamp before the "
       "first of the panels' messages is written to the last echo; message: to each echo"}};
  if (!counts.first_refusal.empty()) report["first_refusal"] = counts.first_refusal;
  if (plan.rate_hz > 0) {
    report["ratio"] = {{"p50", Median(measured.p50_ratios)}, {"p99", Median(measured.p99_ratios)}};
  }
  if (!measured.resident_bytes.empty()) {
    const auto gained = [&measured](const std::string& name) {
      const auto found = measured.gained.find(name);
      return found == measured.gained.end() ? 0.0 : found->second;
    };
    const auto incomplete = [&](const char* end) {
      return gained(fmt::format("tributary_slots_fused_total{{end=\"{}\",site=\"{}\"}}", end, plan.site));
    };
    const std::string label = fmt::format("{{site=\"{}\"}}", plan.site);
    report["tuples_per_s"] = per_second(gained("tributary_tuples_accepted_total" + label));
    report["fused_per_s"] = per_second(gained("tributary_tuples_fused_total" + label));
    report["aggregator"] = {{"cpu_share", per_second(gained("process_cpu_seconds_total"))},
                            {"incomplete_slots", incomplete("deadline") + incomplete("evicted")},
                            {"resident_bytes", measured.resident_bytes.back()},
                            {"resident_bytes_first", measured.resident_bytes.front()}};
  }
  return report;
}

void Print(const json& report) {
  const auto print = [](const char* name, const std::string& text) { fmt::print("{:<22} {}\n", name, text); };
  const auto number = [](const json& of, const char* key) { return of[key].get<double>(); };
  const auto count = [&report](const char* key) { return report[key].get<std::uint64_t>(); };
  const auto latency = [&](const char* name, const json& us) {
    print(name, fmt::format("p50 {:.1f}  p90 {:.1f}  p99 {:.1f}  max {:.1f} us", number(us, "p50"),
                            number(us, "p90"), number(us, "p99"), number(us, "max")));
  };
  print("sent", fmt::format("{:.0f} slots/s of {} × {} for {:.1f} s", number(report, "slots_per_s"),
                            runtime::Counted(count("panels"), "panel"),
                            runtime::Counted(count("users"), "user"), number(report, "seconds")));
  if (report.contains("tuples_per_s")) {
    print("fused", fmt::format("{:.0f} tuples/s in, {:.0f} fused/s out", number(report, "tuples_per_s"),
                               number(report, "fused_per_s")));
  }
  print("lost", std::to_string(count("lost")));
  print("frames", fmt::format("{} sent, {} acknowledged, {} refused", count("sent_frames"),
                              count("acknowledged_frames"), count("refused_frames")));
  print("slots", fmt::format("{} sent, {} received, {} incomplete, {} skipped", count("sent_slots"),
                             count("received_slots"), count("incomplete_slots"), count("skipped_slots")));
  if (count("reconnections") > 0) {
    print("reconnected",
          fmt::format("{}; {} not sent meanwhile", runtime::Counted(count("reconnections"), "time"),
                      runtime::Counted(count("unsent_slots"), "slot")));
  }
  latency("stamp to watcher", report["latency_us"]);
  latency("raw TCP echo, burst", report["echo_us"]["burst"]);
  latency("raw TCP echo, message", report["echo_us"]["message"]);
  if (report.contains("ratio")) {
    print("ratio", fmt::format("p50 {:.2f}  p99 {:.2f} (to the burst, median of turns)",
                               number(report["ratio"], "p50"), number(report["ratio"], "p99")));
  }
  if (report.contains("aggregator")) {
    const json& aggregator = report["aggregator"];
    print("aggregator",
          fmt::format("{:.1f} % of a core, {:.1f} MB resident", 100 * number(aggregator, "cpu_share"),
                      1e-6 * number(aggregator, "resident_bytes")));
  }
  if (report.contains("first_refusal")) print("first refusal", report["first_refusal"].get<std::string>());
}

absl::Status Run(const Options& options) {
  runtime::TuneProcess();
  runtime::BlockSignals();
  LoadPlan plan = options.plan;
  if (options.rate.empty()) {
    plan.rate_hz = std::min(kMostSlotsPerS, plan.slot.rate_hz());
  } else if (options.rate == "max") {
    plan.rate_hz = 0;
    plan.watch_rate_hz = kFlatOutWatchHz;
  } else if (!absl::SimpleAtod(options.rate, &plan.rate_hz) || !(plan.rate_hz > 0 && plan.rate_hz <= 1e6)) {
    return UsageError("--rate: " + NotAllowed(options.rate, "slots per second up to 1000000, or max"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<EchoPeer> echo, EchoPeer::Fork());
  std::string http = options.http;
  std::unique_ptr<LoadServer> server;
  if (plan.connection.aggregator.empty()) {
    // Flat out a panel may be behind the others for longer.
    const double deadline_ms = plan.rate_hz > 0 ? options.deadline_ms : 2000;
    ASSIGN_OR_RETURN(server, LoadServer::Start(plan, deadline_ms));
    plan.connection = {.aggregator = server->address};
    http = server->http_address;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadClient> client, LoadClient::Connect(plan));
  MetricsReader metrics(http);
  RETURN_IF_ERROR(metrics.Begin());
  Measured measured;
  const absl::Status ended = MeasureUntilStopped(plan, options.seconds, *echo, *client, metrics, measured);
  const json report = Report(plan, *client, measured);
  if (options.as_json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    Print(report);
  }
  RETURN_IF_ERROR(ended);
  return report["lost"] == 0 ? absl::OkStatus() : AlreadyReported(runtime::kExitFailure);
}

}  // namespace

void AddLoadCommand(Commands& program) {
  auto [command, options] = program.Add<Options>(
      "load", "Send the tuples of N panels to an aggregator; measure rate, latency and losses", Run);
  LoadPlan& plan = options.plan;
  plan.connection.aggregator.clear();
  command.Connection(
      plan.connection,
      "Address of the aggregator; without this and TRIBUTARY_AGGREGATOR, the command starts its own");
  command.Text("--http", options.http, "HOST:PORT",
               "HTTP address of that aggregator, to read its CPU time and memory");
  command.Text("--site", plan.site, "SITE", "Name of the site; it needs the sources panel-0, panel-1 …");
  command.Number("--panels", plan.panels, "N", "Number of panels", {1, 64});
  command.Number("--users", plan.users, "N", "Number of tuples in a frame", {1, 256});
  command.SlotLength(plan.slot);
  command.Text("--rate", options.rate, "max|HZ",
               "Slots per second, or \"max\" (default: every slot, at most 2000 a second)");
  command.Number("--seconds", options.seconds, "N",
                 "Seconds of sending; the comparison with TCP takes half as long again", {0.1, 1e6});
  command.Number("--frames-per-message", plan.frames_per_message, "N", "Number of slots in one message",
                 {1, 1024});
  command.Number("--deadline-ms", options.deadline_ms, "MS",
                 "deadline_ms of the site, where the command starts its own aggregator");
  command.Json(options.as_json, "Print the report as JSON");
  command.Examples(
      "Examples:\n"
      "  tributary load --aggregator \"\" --seconds 10                      an aggregator of its own\n"
      "  tributary load --aggregator hub:7400 --http hub:7480 --rate max --json\n\n"
      "With TLS the certificate names one node, which reports all panels on one connection; without, each\n"
      "panel is a node with a connection of its own. The name on the certificate must own the sources\n"
      "([[site.owner]]) and be in viewers of [access]; with --http, the aggregator's HTTP must take callers\n"
      "without a certificate as viewers.\n\n"
      "If the connection breaks, the command opens it again and counts what was under way as lost. If the\n"
      "aggregator refuses, it ends at once with the aggregator's reason. It prints the report also if "
      "Ctrl-C\n"
      "ends the load, or if the aggregator is away at the end (exit status 69). Exit status 1: a frame or a\n"
      "slot was lost, or the aggregator refused.");
}

}  // namespace tributary::cli
