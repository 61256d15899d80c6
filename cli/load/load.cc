#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/load/load_client.h"
#include "cli/load/load_echo.h"
#include "cli/load/load_server.h"
#include "core/runtime/clock.h"
#include "core/runtime/latency.h"
#include "core/runtime/process.h"

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
  ConnectionArguments connection;
  std::string http;
  std::string site = "load";
  std::uint32_t panels = 4;
  std::uint32_t users = 16;
  estimate::SlotLength slot;
  std::string rate;  // empty: one slot in each of the site's, at most kMostSlotsPerS
  double seconds = 60;
  std::size_t frames_per_message = 1;
  double deadline_ms = 50;
  bool as_json = false;
};

struct Measured {
  runtime::LatencyHistogram slot;
  runtime::LatencyHistogram echo_message;
  runtime::LatencyHistogram echo_burst;
  std::vector<double> p50_ratios;
  std::vector<double> p99_ratios;
  double sending_s = 0;
  std::vector<double> resident_bytes;
  double cpu_s = 0;
  double tuples_accepted = 0;
  double tuples_fused = 0;
  double slots_incomplete = 0;
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

double MetricDifference(const MetricSamples& before, const MetricSamples& after, const std::string& name) {
  const auto value = [&name](const MetricSamples& samples) {
    const auto found = samples.find(name);
    return found == samples.end() ? 0.0 : found->second;
  };
  return value(after) - value(before);
}

// One turn of load, with the aggregator's metrics around it.
absl::Status LoadTurn(LoadClient& client, const std::string& http, const std::string& site, double seconds,
                      runtime::LatencyHistogram& latency, Measured& measured) {
  MetricSamples before;
  if (!http.empty()) {
    absl::StatusOr<MetricSamples> samples = ReadMetrics(http);
    if (!samples.ok()) return samples.status();
    before = *std::move(samples);
  }
  const runtime::SystemClock clock;
  const std::int64_t start_ns = clock.SteadyNs();
  if (absl::Status status =
          client.Run(std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds)), latency);
      !status.ok()) {
    return status;
  }
  measured.sending_s += 1e-9 * static_cast<double>(clock.SteadyNs() - start_ns);
  if (http.empty()) return absl::OkStatus();
  absl::StatusOr<MetricSamples> after = ReadMetrics(http);
  if (!after.ok()) return after.status();
  const std::string label = fmt::format("{{site=\"{}\"}}", site);
  measured.cpu_s += MetricDifference(before, *after, "process_cpu_seconds_total");
  measured.tuples_accepted += MetricDifference(before, *after, "tributary_tuples_accepted_total" + label);
  measured.tuples_fused += MetricDifference(before, *after, "tributary_tuples_fused_total" + label);
  measured.slots_incomplete +=
      MetricDifference(before, *after,
                       fmt::format("tributary_slots_fused_total{{end=\"deadline\",site=\"{}\"}}", site)) +
      MetricDifference(before, *after,
                       fmt::format("tributary_slots_fused_total{{end=\"evicted\",site=\"{}\"}}", site));
  measured.resident_bytes.push_back((*after)["process_resident_memory_bytes"]);
  return absl::OkStatus();
}

absl::Status Measure(const Options& options, const LoadPlan& plan, const EchoPeer& echo, LoadClient& client,
                     const std::string& http, Measured& measured) {
  const EchoPeer::Load echo_load{
      plan.panels, client.message_bytes(),
      (plan.rate_hz > 0 ? plan.rate_hz : kMostSlotsPerS) / static_cast<double>(plan.frames_per_message)};
  const int turns = plan.rate_hz > 0 ? std::max(1, static_cast<int>(options.seconds / kTurnS)) : 1;
  for (int turn = 0; turn < turns; ++turn) {
    runtime::LatencyHistogram message;
    runtime::LatencyHistogram burst;
    runtime::LatencyHistogram slot;
    if (absl::Status status = echo.Run(echo_load, kEchoTurn, message, burst); !status.ok()) return status;
    if (absl::Status status = LoadTurn(client, http, plan.site, options.seconds / turns, slot, measured);
        !status.ok()) {
      return status;
    }
    measured.p50_ratios.push_back(static_cast<double>(slot.QuantileNs(0.5)) /
                                  static_cast<double>(burst.QuantileNs(0.5)));
    measured.p99_ratios.push_back(static_cast<double>(slot.QuantileNs(0.99)) /
                                  static_cast<double>(burst.QuantileNs(0.99)));
    measured.slot.Merge(slot);
    measured.echo_message.Merge(message);
    measured.echo_burst.Merge(burst);
  }
  return absl::OkStatus();
}

json Report(const LoadPlan& plan, const LoadClient& client, const Measured& measured) {
  const LoadCounts counts = client.counts();
  const bool every_slot_watched = plan.watch_rate_hz == 0;
  const std::uint64_t lost_frames = counts.frames_sent - counts.frames_acknowledged + counts.frames_refused;
  const std::uint64_t seen_slots = counts.slots_received + counts.slots_skipped;
  const std::uint64_t lost_slots =
      every_slot_watched && seen_slots < counts.slots_sent ? counts.slots_sent - seen_slots : 0;
  json report = {
      {"panels", plan.panels},
      {"users", plan.users},
      {"frames_per_message", plan.frames_per_message},
      {"message_bytes", client.message_bytes()},
      {"seconds", measured.sending_s},
      {"slots_per_s", static_cast<double>(counts.slots_sent) / measured.sending_s},
      {"sent_frames", counts.frames_sent},
      {"acknowledged_frames", counts.frames_acknowledged},
      {"refused_frames", counts.frames_refused},
      {"lost_frames", lost_frames},
      {"sent_slots", counts.slots_sent},
      {"received_slots", counts.slots_received},
      {"incomplete_slots", counts.slots_incomplete},
      {"skipped_slots", counts.slots_skipped},
      {"lost_slots", lost_slots},
      {"lost", lost_frames + lost_slots},
      {"latency_us", Quantiles(measured.slot)},
      {"latency_is",
       "from the stamp of a slot, before its first frame is written, to the fused slot's receipt by a "
       "watcher"},
      {"echo_us", {{"burst", Quantiles(measured.echo_burst)}, {"message", Quantiles(measured.echo_message)}}},
      {"echo_is",
       "raw TCP on loopback, process to process, epoll at both ends, same number of connections, bytes per "
       "message and "
       "messages per second as the load, in turns with it; burst: from the stamp before the first of the "
       "panels' "
       "messages is written to the last echo; message: to each echo"}};
  if (!counts.first_refusal.empty()) report["first_refusal"] = counts.first_refusal;
  if (plan.rate_hz > 0) {
    report["ratio"] = {{"p50", Median(measured.p50_ratios)}, {"p99", Median(measured.p99_ratios)}};
  }
  if (!measured.resident_bytes.empty()) {
    report["tuples_per_s"] = measured.tuples_accepted / measured.sending_s;
    report["fused_per_s"] = measured.tuples_fused / measured.sending_s;
    report["aggregator"] = {{"cpu_share", measured.cpu_s / measured.sending_s},
                            {"incomplete_slots", measured.slots_incomplete},
                            {"resident_bytes", measured.resident_bytes.back()},
                            {"resident_bytes_first", measured.resident_bytes.front()}};
  }

  return report;
}

void Print(const json& report) {
  const auto latency = [](const char* name, const json& us) {
    fmt::print("{:<22} p50 {:.1f}  p90 {:.1f}  p99 {:.1f}  max {:.1f} us\n", name, us["p50"].get<double>(),
               us["p90"].get<double>(), us["p99"].get<double>(), us["max"].get<double>());
  };
  fmt::print("{:<22} {:.0f} slots/s of {} panels × {} users for {:.1f} s\n", "sent",
             report["slots_per_s"].get<double>(), report["panels"].get<int>(), report["users"].get<int>(),
             report["seconds"].get<double>());
  if (report.contains("tuples_per_s")) {
    fmt::print("{:<22} {:.0f} tuples/s in, {:.0f} fused/s out\n", "fused",
               report["tuples_per_s"].get<double>(), report["fused_per_s"].get<double>());
  }
  fmt::print("{:<22} {}\n", "lost", report["lost"].get<std::uint64_t>());
  const auto count = [&report](const char* key) { return report[key].get<std::uint64_t>(); };
  fmt::print("{:<22} {} sent, {} acknowledged, {} refused\n", "frames", count("sent_frames"),
             count("acknowledged_frames"), count("refused_frames"));
  fmt::print("{:<22} {} sent, {} received, {} incomplete, {} skipped\n", "slots", count("sent_slots"),
             count("received_slots"), count("incomplete_slots"), count("skipped_slots"));
  latency("stamp to watcher", report["latency_us"]);
  latency("raw TCP echo, burst", report["echo_us"]["burst"]);
  latency("raw TCP echo, message", report["echo_us"]["message"]);
  if (report.contains("ratio")) {
    fmt::print("{:<22} p50 {:.2f}  p99 {:.2f} (to the burst, median of turns)\n", "ratio",
               report["ratio"]["p50"].get<double>(), report["ratio"]["p99"].get<double>());
  }
  if (report.contains("aggregator")) {
    fmt::print("{:<22} {:.1f} % of a core, {:.1f} MB resident\n", "aggregator",
               100 * report["aggregator"]["cpu_share"].get<double>(),
               1e-6 * report["aggregator"]["resident_bytes"].get<double>());
  }
  if (report.contains("first_refusal")) {
    fmt::print("{:<22} {}\n", "first refusal", report["first_refusal"].get<std::string>());
  }
}

absl::Status Run(const Options& options) {
  runtime::TuneProcess();
  LoadPlan plan;
  plan.site = options.site;
  plan.panels = options.panels;
  plan.users = options.users;
  plan.frames_per_message = options.frames_per_message;
  plan.slot = options.slot;
  if (options.rate.empty()) {
    plan.rate_hz = std::min(kMostSlotsPerS, options.slot.rate_hz());
  } else if (options.rate == "max") {
    plan.rate_hz = 0;
    plan.watch_rate_hz = kFlatOutWatchHz;
  } else if (!absl::SimpleAtod(options.rate, &plan.rate_hz) || !(plan.rate_hz > 0 && plan.rate_hz <= 1e6)) {
    return UsageError("--rate: " + NotAllowed(options.rate, "slots per second up to 1000000, or max"));
  }
  absl::StatusOr<std::unique_ptr<EchoPeer>> echo = EchoPeer::Fork();
  if (!echo.ok()) return echo.status();
  plan.connection = options.connection;
  std::string http = options.http;
  std::unique_ptr<LoadServer> server;
  if (plan.connection.aggregator.empty()) {
    // Flat out a panel may be behind the others for longer.
    const double deadline_ms = plan.rate_hz > 0 ? options.deadline_ms : 2000;
    absl::StatusOr<std::unique_ptr<LoadServer>> started =
        LoadServer::Start({plan.site, plan.panels, plan.users, deadline_ms, plan.slot});
    if (!started.ok()) return started.status();
    server = *std::move(started);
    plan.connection = {.aggregator = server->address()};
    http = server->http_address();
  }
  absl::StatusOr<std::unique_ptr<LoadClient>> client = LoadClient::Connect(plan);
  if (!client.ok()) return client.status();
  Measured measured;
  if (absl::Status status = Measure(options, plan, **echo, **client, http, measured); !status.ok())
    return status;
  const json report = Report(plan, **client, measured);
  if (options.as_json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    Print(report);
  }
  return report["lost"] == 0 ? absl::OkStatus() : AlreadyReported(runtime::kExitFailure);
}

}  // namespace

void AddLoadCommand(Commands& program) {
  auto [command, options] = program.Add<Options>(
      "load", "Send the tuples of N panels to an aggregator; measure rate, latency and losses", Run);
  options.connection.aggregator.clear();
  command.Connection(options.connection,
                     "Address of the aggregator; without one, the command starts its own");
  command.Text("--http", options.http, "HOST:PORT",
               "HTTP address of that aggregator, to read its CPU time and memory");
  command.Text("--site", options.site, "SITE", "Name of the site; it needs the sources panel-0, panel-1 …");
  command.Number("--panels", options.panels, "N", "Number of panels", {1, 64});
  command.Number("--users", options.users, "N", "Number of tuples in a frame", {1, 256});
  command.SlotLength(options.slot);
  command.Text("--rate", options.rate, "max|HZ",
               "Slots per second, or \"max\" (default: every slot, at most 2000 a second)");
  command.Number("--seconds", options.seconds, "N", "Duration in seconds", {0.1, 1e6});
  command.Number("--frames-per-message", options.frames_per_message, "N", "Number of slots in one message",
                 {1, 1024});
  command.Number("--deadline-ms", options.deadline_ms, "MS",
                 "deadline_ms of the site, where the command starts its own aggregator");
  command.Json(options.as_json, "Print the report as JSON");
  command.Examples(
      "Examples:\n"
      "  tributary load --seconds 10                                      an aggregator of its own\n"
      "  tributary load --aggregator hub:7400 --http hub:7480 --rate max --json\n\n"
      "With TLS the certificate names one node, which reports all panels on one connection; without, each\n"
      "panel is a node with a connection of its own. Exit status 1: a frame or a slot was lost.");
}

}  // namespace tributary::cli
