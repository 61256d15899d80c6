// A run from the operator's side: the commands' output, its keys, and the exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/http.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct OperatorSaid {
  int exit_code;
  std::string text;  // on standard output and standard error
};

class OperatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  std::string Address() const { return "127.0.0.1:" + std::to_string(aggregator_.ingest_port()); }

  Process Command(std::vector<std::string> arguments, const std::string& log) {
    arguments.insert(arguments.end(), {"--aggregator", Address()});
    return Process("tributary", arguments, log);
  }
  OperatorSaid Run(const std::vector<std::string>& arguments) {
    const std::string log = folder_.Path("said-" + std::to_string(commands_++));
    Process command = Command(arguments, log);
    const int exit_code = command.Wait(std::chrono::seconds(60));
    return {exit_code, command.Log()};
  }
  // Two nodes are there to learn.
  void StartRun(int rounds) {
    const std::string file = folder_.Write("run.toml", "name = \"r\"\nrounds = " + std::to_string(rounds) +
                                                           "\n[client]\nlocal_steps = 1\nbatch = 4\n");
    const OperatorSaid said = Run({"run", "start", file});
    ASSERT_EQ(said.exit_code, 0) << said.text;
    for (LearnerProcess* each : {&first_, &second_}) each->Start();
  }
  int Committed() const {
    const json run = json::parse(aggregator_.Get("/api/v1/runs/r"), nullptr, false);
    return run.is_object() ? run["run"].value("committed_rounds", 0) : 0;
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}, FederationKeys(folder_)};
  LearnerProcess first_{folder_, 0, 2, aggregator_.ingest_port()};
  LearnerProcess second_{folder_, 1, 2, aggregator_.ingest_port()};
  int commands_ = 0;
};

TEST_F(OperatorTest, TheHttpApiGivesARunByPages) {
  StartRun(3);
  ASSERT_EQ(Run({"run", "watch", "r"}).exit_code, 0);
  const auto ask = [&](const std::string& query) {
    return HttpAsk(aggregator_.http_port(), "/api/v1/runs/r" + query);
  };
  const json newest = json::parse(ask("?rounds=2&nodes=1").body);
  ASSERT_EQ(newest["history"].size(), 2u) << newest;
  EXPECT_EQ(newest["history"][1]["round"], 3);
  EXPECT_EQ(newest["next_node"], "learner-0");
  const json rest =
      json::parse(ask("?before=" + newest["earlier"].get<std::string>() + "&after_node=learner-0").body);
  ASSERT_EQ(rest["history"].size(), 1u) << rest;
  EXPECT_EQ(rest["history"][0]["round"], 1);
  ASSERT_EQ(rest["participants"].size(), 1u);
  EXPECT_EQ(rest["participants"][0]["node"], "learner-1");
  EXPECT_EQ(ask("?rounds=many").status, 400);
  EXPECT_THAT(ask("?rounds=many").body, HasSubstr("rounds: expected an integer from 0 to 4294967295"));
}

TEST_F(OperatorTest, AWatcherGoesOnWithTheRunAfterTheAggregatorWasKilled) {
  constexpr int kManyRounds = 60;
  StartRun(kManyRounds);
  Process watch = Command({"run", "watch", "r", "--json"}, folder_.Path("watch.log"));
  ASSERT_TRUE(WaitFor([&] { return Committed() >= 2 && !watch.Log().empty(); })) << watch.Log();
  aggregator_.process().Signal(SIGKILL);
  aggregator_.process().Wait(std::chrono::seconds(10));
  ASSERT_TRUE(WaitFor([&] { return watch.Log().find(" is away (") != std::string::npos; }));
  aggregator_.Start();
  EXPECT_EQ(watch.Wait(std::chrono::seconds(60)), 0) << watch.Log();
  EXPECT_NE(watch.Log().find(" is back\n"), std::string::npos) << watch.Log();
  std::vector<int> rounds;
  std::istringstream lines(watch.Log());
  for (std::string line; std::getline(lines, line);) {
    const json change = json::parse(line, nullptr, false);
    if (!change.is_object()) continue;  // standard error is in the same file
    for (const json& round : change["rounds"]) rounds.push_back(round["round"]);
  }
  std::vector<int> each_once(kManyRounds);
  std::iota(each_once.begin(), each_once.end(), 1);
  EXPECT_EQ(rounds, each_once);
}

TEST_F(OperatorTest, ARollbackOfAnEndedRunChoosesItsModel) {
  StartRun(2);
  ASSERT_EQ(Run({"run", "watch", "r"}).exit_code, 0);
  const OperatorSaid said = Run({"model", "rollback", "r", "1"});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.text, HasSubstr("run:r is the model after round 1 now"));
  const std::string present = folder_.Path("present"), first = folder_.Path("first");
  EXPECT_THAT(Run({"model", "export", "run:r", "--safetensors", present}).text, HasSubstr(present + ": "));
  ASSERT_EQ(Run({"model", "export", "run:r@1", "--safetensors", first}).exit_code, 0);
  EXPECT_FALSE(ReadText(first).empty());
  EXPECT_EQ(ReadText(present), ReadText(first));
  EXPECT_EQ(Committed(), 2) << "the history stays";
}

TEST_F(OperatorTest, ARunStartsFromTheModelOfAnother) {
  StartRun(2);
  ASSERT_EQ(Run({"run", "watch", "r"}).exit_code, 0);
  const std::string file = folder_.Write("next.toml", "name = \"next\"\nmin_nodes = 100\n");
  EXPECT_EQ(Run({"run", "start", file, "--model", "run:r@1"}).exit_code, 0);
  const json diff = json::parse(Run({"model", "diff", "run:next", "run:r@1", "--json"}).text, nullptr, false);
  ASSERT_TRUE(diff.is_object());
  EXPECT_EQ(diff["tensors"].back()["largest"], 0.0);
  EXPECT_EQ(Run({"run", "start", file, "--model", "run:none"}).exit_code, 1);
}

// The table of docs/running.md.
TEST_F(OperatorTest, EachWayToFailHasItsExitStatus) {
  EXPECT_EQ(Run({"run", "foo"}).exit_code, 64);
  EXPECT_EQ(Run({"run", "show", "nosuch"}).exit_code, 1);
  EXPECT_EQ(Run({"run", "start", folder_.Path("none.toml")}).exit_code, 66);
  const std::string bad = folder_.Write("bad.toml", "name = \"r\"\nround = 3\n");
  EXPECT_EQ(Run({"run", "start", bad, "--check"}).exit_code, 78);
  EXPECT_EQ(Run({"run", "start", folder_.Write("good.toml", "name = \"r\"\n"), "--model", bad}).exit_code,
            65);
  EXPECT_EQ(Run({"run", "start", folder_.Path("good.toml")}).exit_code, 0);
  EXPECT_EQ(Run({"model", "export", "run:r", "--safetensors", folder_.Path("none/r")}).exit_code, 73);
  EXPECT_EQ(Run({"run", "list", "--certificate", "a", "--key", "b", "--ca", "c"}).exit_code, 66);
  EXPECT_EQ(Run({"run", "stop", "r"}).exit_code, 0);
  EXPECT_EQ(Run({"run", "start", folder_.Path("good.toml")}).exit_code, 1) << "it was stopped";
  EXPECT_EQ(Run({"run", "watch", "r"}).exit_code, 1);
  aggregator_.process().Signal(SIGTERM);
  ASSERT_EQ(aggregator_.process().Wait(std::chrono::seconds(20)), 0);
  EXPECT_EQ(Run({"run", "list"}).exit_code, 69);
}

}  // namespace
}  // namespace tributary::testing
