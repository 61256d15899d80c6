// The log lines about nodes that connect and leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class PresenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  json Readiness() const { return json::parse(aggregator_.Get("/readyz"), nullptr, false); }
  std::string State() const {
    const json readiness = Readiness();
    return readiness.is_object() ? readiness.value("state", "") : "";
  }
  double Metric(const std::string& name) const { return MetricValue(aggregator_.Metrics(), name); }
  std::string AggregatorLog() { return aggregator_.process().Log(); }
  bool Logged(const std::string& text) {
    return WaitFor([&] { return AggregatorLog().find(text) != std::string::npos; });
  }
  std::string Status(const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"status", "--aggregator",
                                          "127.0.0.1:" + std::to_string(aggregator_.ingest_port())};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Process command("tributary", arguments, folder_.Path("status-" + std::to_string(asked_++)));
    EXPECT_EQ(command.Wait(std::chrono::seconds(30)), 0) << command.Log();
    return command.Log();
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south", "east"}, FederationKeys(folder_)};
  int asked_ = 0;
};

// Typed by hand while the service runs.
TEST_F(PresenceTest, ASecondNodeOfTheSameConfigurationLeavesTheFirstAlone) {
  NodeProcess south(folder_, "south", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return Metric("tributary_nodes_connected{site=\"room\"}") == 1; }));
  Process second("tributary-node",
                 {"--config", folder_.Path("south." + std::to_string(aggregator_.ingest_port()) + ".toml")},
                 folder_.Path("second"));
  EXPECT_EQ(second.Wait(std::chrono::seconds(20)), 69) << second.Log();
  EXPECT_THAT(second.Log(), HasSubstr("http.listen"));
  EXPECT_THAT(AggregatorLog(), Not(HasSubstr("superseding")));
  EXPECT_THAT(AggregatorLog(), Not(HasSubstr("left after")));
}

TEST_F(PresenceTest, SaysWhenANodeComesAndHowItWent) {
  EXPECT_EQ(State(), "silent");
  NodeProcess south(folder_, "south", aggregator_.ingest_port());
  NodeProcess east(folder_, "east", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return State() == "ok"; })) << Readiness().dump();
  EXPECT_EQ(Metric("tributary_nodes_connected{site=\"room\"}"), 2);
  EXPECT_EQ(Readiness()["sites"][0]["present_sources"], 2);
  EXPECT_THAT(AggregatorLog(), HasSubstr("room: node \"south\" reports from"));

  south.process().Signal(SIGTERM);
  EXPECT_EQ(south.process().Wait(std::chrono::seconds(20)), 0);
  ASSERT_TRUE(Logged("room: node \"south\" left after"));
  EXPECT_THAT(
      AggregatorLog(),
      ContainsRegex("\"south\" left after [0-9.]+ s, [1-9][0-9]* frames taken, [0-9]+ refused: it ended"));
  ASSERT_TRUE(WaitFor([&] { return State() == "degraded"; })) << Readiness().dump();
  EXPECT_EQ(Readiness()["sites"][0]["sources"][0]["state"], "absent");

  east.process().Signal(SIGKILL);
  ASSERT_TRUE(Logged("node \"east\" left after"));
  EXPECT_THAT(AggregatorLog(), ContainsRegex("\"east\" left after .*: the link was lost"));
  ASSERT_TRUE(WaitFor([&] { return State() == "silent"; })) << Readiness().dump();
  EXPECT_EQ(Metric("tributary_nodes_connected{site=\"room\"}"), 0);
  EXPECT_EQ(Metric("tributary_nodes_known{site=\"room\"}"), 2);
  EXPECT_EQ(aggregator_.Get("/readyz?site=room"), "") << "503";
}

TEST_F(PresenceTest, SaysAtItsEndWhatItServed) {
  NodeProcess south(folder_, "south", aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return Metric("tributary_frames_accepted_total{site=\"room\"}") > 10; }));
  aggregator_.process().Signal(SIGTERM);
  ASSERT_EQ(aggregator_.process().Wait(std::chrono::seconds(20)), 0);
  EXPECT_THAT(AggregatorLog(),
              ContainsRegex("room: served [0-9.]+ s: 1 node, [1-9][0-9]* frames? taken, [0-9]+ refused"));
  EXPECT_THAT(AggregatorLog(), HasSubstr("\"south\" left after"));
  EXPECT_THAT(AggregatorLog(), HasSubstr("aggregator stopped after"));
}

TEST_F(PresenceTest, ListsANodeThatOnlyLearnsInStatusAndHttp) {
  LearnerProcess learner(folder_, 0, 2, aggregator_.ingest_port());
  learner.Start();
  const auto nodes = [&] { return json::parse(aggregator_.Get("/api/v1/nodes"), nullptr, false)["nodes"]; };
  ASSERT_TRUE(WaitFor([&] { return nodes().size() == 1; })) << nodes().dump();
  EXPECT_EQ(nodes()[0]["name"], "learner-0");
  EXPECT_EQ(nodes()[0]["connected"], true);
  EXPECT_EQ(nodes()[0]["learns"][0]["run"], "") << "it waits for one";
  EXPECT_EQ(Metric("tributary_participants_waiting"), 1);
  EXPECT_THAT(Status(), ContainsRegex("learner-0 +waits for one +connected"));

  const std::string file =
      folder_.Write("run.toml", "name = \"r\"\nrounds = 1\nmin_nodes = 2\n[client]\nlocal_steps = 1\n");
  ASSERT_EQ(RunCommand(folder_, {"run", "start", file, "--aggregator",
                                 "127.0.0.1:" + std::to_string(aggregator_.ingest_port())}),
            0);
  ASSERT_TRUE(WaitFor([&] { return nodes()[0]["learns"][0]["run"] == "r"; })) << nodes().dump();
  EXPECT_EQ(json::parse(Status({"--json"}))["nodes"][0]["learns"], nodes()[0]["learns"]);

  learner.process().Signal(SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return nodes()[0]["connected"] == false; })) << nodes().dump();
  ASSERT_TRUE(Logged("node \"learner-0\" takes no more part in run r"));
  EXPECT_THAT(Status(), ContainsRegex("learner-0 +r +away"));
}

// A board that restarts all the time must not fill the aggregator's disk.
TEST_F(PresenceTest, WritesABoundedNumberOfLinesAboutANodeThatFlaps) {
  for (int i = 0; i < 12; ++i) {
    NodeProcess south(folder_, "south", aggregator_.ingest_port());
    ASSERT_TRUE(WaitFor([&] { return Metric("tributary_nodes_connected{site=\"room\"}") == 1; }));
    south.process().Signal(SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return Metric("tributary_nodes_connected{site=\"room\"}") == 0; }));
  }
  int lines = 0;
  const std::string log = AggregatorLog();
  for (std::size_t at = log.find("node \"south\""); at != std::string::npos;
       at = log.find("node \"south\"", at + 1)) {
    ++lines;
  }
  EXPECT_GE(lines, 8);
  EXPECT_LT(lines, 20) << log;
}

}  // namespace
}  // namespace tributary::testing
