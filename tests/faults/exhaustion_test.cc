// Peers that try to use up what an aggregator has: memory, descriptors, places, threads. Honest panels lose
// nothing meanwhile, the memory stays below the unit's limit, and what was refused is counted.
// bench/under_attack.py measures the same for longer, with latencies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tests/support/process_usage.h"

namespace tributary::testing {
namespace {

using std::chrono::seconds;

struct Exhaustion {
  std::string attack;
  std::vector<std::string> counted;  // metrics of which one rises
  bool tls = false;
  std::vector<std::string> launcher = {};
  int seconds = 4;

  friend std::ostream& operator<<(std::ostream& to, const Exhaustion& each) { return to << each.attack; }
};

double Refused(const AggregatorProcess& aggregator, const std::vector<std::string>& counted) {
  double sum = 0;
  for (const std::string& metric : counted) sum += MetricValue(aggregator.Metrics(), metric);
  return sum;
}

std::string Connections(const std::string& reason) {
  return "tributary_connections_refused_total{reason=\"" + reason + "\"}";
}

std::string Streams(const std::string& reason) {
  return "tributary_streams_refused_total{reason=\"" + reason + "\"}";
}

// Which of these limits a flood meets first is a race, another one on each machine.
std::vector<std::string> Floods() {
  std::vector<std::string> floods;
  for (const char* reason : {"resets", "too_many_calls", "call_rate", "too_many_calls_of_peer", "no_call",
                             "stall", "gave_up", "long_header"})
    floods.push_back(Connections(reason));
  return floods;
}

class ExhaustionTest : public ::testing::TestWithParam<Exhaustion> {};

TEST_P(ExhaustionTest, HonestPanelsLoseNothingAndTheAggregatorStaysWithinItsMemory) {
  const Exhaustion& tested = GetParam();
  const ScratchFolder folder;
  std::string keys = FederationKeys(folder), owner, identity;
  std::vector<std::string> attackers_files;  // of its certificate
  if (tested.tls) {
    const Certificates certificates(folder, "certs", {"aggregator", "board", "evil"});
    keys += certificates.Table("aggregator") + "[access]\nviewers = [\"board\"]\nnodes = [\"evil\"]\n";
    owner =
        "[[site.owner]]\nnode = \"board\"\nsources = [\"panel-0\", \"panel-1\", \"panel-2\", \"panel-3\"]\n";
    for (const std::string& option : certificates.Options("board")) identity += " " + option;
    for (const char* file : {"evil.pem", "evil.key", "ca.pem"})
      attackers_files.push_back(certificates.File(file));
  }
  AggregatorProcess aggregator(folder, "aggregator", {"spare"}, keys,
                               "[[site]]\nname = \"load\"\ndeadline_ms = 1000.0\nsources = [\"panel-0\", "
                               "\"panel-1\", \"panel-2\", \"panel-3\"]\n" +
                                   owner);
  aggregator.Start(tested.launcher);
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();

  const std::string report = folder.Path("report.json");
  Process load("/bin/sh",
               {"-c", fmt::format("{}/tributary load --aggregator 127.0.0.1:{} --http 127.0.0.1:{}{} --rate "
                                  "200 --seconds 5 --json > {}",
                                  TRIBUTARY_BIN_DIR, aggregator.ingest_port(), aggregator.http_port(),
                                  identity, report)},
               folder.Path("load.log"));
  // A panel that connects in the middle of an attack may have to try again.
  ASSERT_TRUE(WaitFor([&] {
    return MetricValue(aggregator.Metrics(), "tributary_frames_accepted_total{site=\"load\"}") > 0;
  })) << load.Log();
  // In the field the attacker has a processor of its own. (SCHED_IDLE would not let it run beside other
  // tests.)
  std::vector<std::string> command = {"-n",
                                      "19",
                                      TRIBUTARY_BIN_DIR "/attacker",
                                      tested.attack,
                                      std::to_string(aggregator.ingest_port()),
                                      std::to_string(tested.seconds)};
  command.insert(command.end(), attackers_files.begin(), attackers_files.end());
  // Again, if a busy machine left it no time to do harm.
  int attempts = 0;
  do {
    Process attacker("/usr/bin/nice", command, folder.Path("attacker.log"));
    EXPECT_EQ(attacker.Wait(seconds(60)), 0) << attacker.Log();
  } while (++attempts < 3 && !(Refused(aggregator, tested.counted) > 0));
  EXPECT_NE(load.Wait(seconds(60)), -1) << load.Log();
  const auto json = nlohmann::json::parse(ReadText(report), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << load.Log() << aggregator.process().Log();
  EXPECT_EQ(json["lost_frames"].get<std::uint64_t>(), 0u) << json;
  EXPECT_EQ(json["reconnections"].get<std::uint64_t>(), 0u) << json;
  EXPECT_GT(Refused(aggregator, tested.counted), 0) << aggregator.Metrics();
#ifndef TRIBUTARY_SANITIZED
  EXPECT_LT(PeakMiB(aggregator.process().pid()), 512) << "MemoryMax of its unit";
#endif
  aggregator.process().Signal(SIGTERM);
  EXPECT_EQ(aggregator.process().Wait(seconds(10)), 0) << aggregator.process().Log();
}

INSTANTIATE_TEST_SUITE_P(
    Attacks, ExhaustionTest,
    ::testing::Values(Exhaustion{"half_client_hello",
                                 {Connections("too_many_silent_of_address"), Connections("too_many_silent")},
                                 true},
                      Exhaustion{"idle_connections",
                                 {Connections("too_many_silent"), Connections("no_descriptor")},
                                 false,
                                 {"prlimit", "--nofile=64"}},
                      Exhaustion{"reset_participate", Floods()}, Exhaustion{"reset_report", Floods()},
                      Exhaustion{"reset_list_nodes", Floods()},
                      // Away from the thread that fuses, gRPC may read a header's 640 KiB for some seconds.
                      Exhaustion{"quadratic_headers", Floods(), false, {}, 12},
                      Exhaustion{"quadratic_headers_after_a_call", Floods(), false, {}, 12},
                      Exhaustion{"quadratic_headers_beside_an_upload", Floods()},
                      Exhaustion{"calls_without_a_path", Floods()},
                      Exhaustion{"calls_without_a_path_beside_calls", Floods()},
                      Exhaustion{"refused_calls", Floods(), true},
                      Exhaustion{"tls_records_at_once", {Connections("no_call")}, true},
                      Exhaustion{"long_chains", {Connections("long_handshake")}, true},
                      Exhaustion{"reused_port", {Connections("quarantined")}},
                      Exhaustion{"reports_beside_garbage",
                                 {Connections("malformed"), Connections("no_call")}},
                      Exhaustion{"unknown_fields", {Connections("malformed")}},
                      Exhaustion{"second_hellos", {Connections("malformed"), Streams("too_large")}},
                      Exhaustion{"a_few_headers_at_once", Floods()},
                      Exhaustion{"calls_from_many_addresses", Floods()}, Exhaustion{"pings", Floods()},
                      Exhaustion{"half_calls", Floods()}, Exhaustion{"half_calls_of_a_node", Floods(), true},
                      Exhaustion{"empty_strings", {Connections("malformed")}},
                      Exhaustion{"empty_shares", {Connections("malformed")}},
                      Exhaustion{"idle_reflections", Floods()},
                      Exhaustion{"source_names", {Streams("too_many")}},
                      Exhaustion{"silent_reports", {Connections("call_rate"), Streams("too_many")}}),
    [](const auto& tested) { return tested.param.attack; });

}  // namespace
}  // namespace tributary::testing
