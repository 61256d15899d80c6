// A run whose nodes form clusters, from the operator's side: what is shown, and a run for each cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "tests/integration/federation_simulated_node.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kElements = 300;
constexpr int kSplitRounds = 100'000;  // more than a test takes

class RunSplitTest : public ::testing::Test {
 protected:
  // `keys`: more of the aggregator's section [federation].
  explicit RunSplitTest(const std::string& keys = "")
      : aggregator_(folder_, "aggregator", {"south"}, FederationKeys(folder_) + keys) {}

  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--aggregator", "127.0.0.1:" + std::to_string(aggregator_.ingest_port())});
    const std::size_t before = Log().size();
    const int exit_code = RunCommand(folder_, arguments);
    said_ = Log().substr(before);
    return exit_code;
  }
  const std::string& Said() const { return said_; }  // the last command

  void Start(const std::string& more) {
    const std::string model =
        folder_.Write("w.safetensors", OneTensorModel(std::vector<float>(kElements, 0.25F)));
    const std::string file = folder_.Write(
        "run.toml", "name = \"r\"  # as the operator calls it\nrounds = " + std::to_string(kSplitRounds) +
                        "\nmin_nodes "
                        "= 5\nquorum = 3\n[client]\nworkload = "
                        "\"external\"\ntrainer = \"any\"\n" +
                        more);
    ASSERT_EQ(Run({"run", "start", file, "--model", model}), 0) << Said();
  }

  // Named after its cluster. Names no run.
  void AddNode(const std::string& name) {
    nodes_.push_back(std::make_unique<SimulatedNode>(
        aggregator_.ingest_port(), name, "",
        [name](const link::FederationClient::Assignment&, link::FederationClient&) {
          nn::RandomStream random(static_cast<std::uint64_t>(name.front()));
          std::vector<float> update(kElements);
          for (float& value : update) value = static_cast<float>(0.01 * random.Normal());
          return update;
        }));
  }

  json Answer(const std::string& run) {
    json answer = json::parse(aggregator_.Get("/api/v1/runs/" + run), nullptr, false);
    return answer.is_discarded() ? json::object() : answer;
  }
  int Committed(const std::string& run) {
    return Answer(run).value(json::json_pointer("/run/committed_rounds"), 0);
  }

  std::string Log() const { return ReadText(folder_.Path("command.log")); }

  std::string said_;
  ScratchFolder folder_;
  AggregatorProcess aggregator_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

TEST_F(RunSplitTest, StartsARunForEachClusterAndItsNodesGoOnThere) {
  Start("[clusters]\nmost = 3\n");
  for (const char* name : {"a1", "a2", "b1", "b2", "b3"}) AddNode(name);
  ASSERT_TRUE(WaitFor([&] { return Answer("r").value(json::json_pointer("/run/clusters"), 0) == 2; }))
      << Answer("r");
  EXPECT_EQ(Answer("r")["clusters"]["clusters"][0]["nodes"], json({"b1", "b2", "b3"}));

  ASSERT_EQ(Run({"run", "show", "r"}), 0);
  EXPECT_THAT(Said(), HasSubstr("  1: b1, b2, b3\n  2: a1, a2\n"));
  ASSERT_EQ(Run({"run", "split", "r", "--check"}), 0);
  EXPECT_THAT(Said(), HasSubstr("r-2: "));
  ASSERT_EQ(Run({"run", "split", "r", "--check", "--json", "--name", "s"}), 0);
  EXPECT_EQ(json::parse(Said())["runs"][1]["name"], "s-2");
  EXPECT_EQ(Answer("r-1"), json::object());

  ASSERT_EQ(Run({"run", "split", "r"}), 0) << Said();
  EXPECT_THAT(Said(), HasSubstr(" rounds, 3 nodes, at least 3: b1, b2, b3\n"));
  const json stopped = Answer("r")["run"];
  EXPECT_EQ(stopped["state"], "RUN_STATE_STOPPED");
  EXPECT_TRUE(WaitFor([&] { return Committed("r-1") >= 2 && Committed("r-2") >= 2; })) << Answer("r-1");
  EXPECT_EQ(Answer("r-1")["run"]["joined_nodes"], 3);
  EXPECT_EQ(Answer("r-2")["run"]["joined_nodes"], 2);
  EXPECT_EQ(Answer("r-1")["run"]["quorum"], 2) << "three of five nodes, of a quorum of three";
  // What was left to do.
  EXPECT_EQ(Answer("r-1")["run"]["rounds"].get<int>() + stopped["committed_rounds"].get<int>(), kSplitRounds);
  // From the model where the run stopped.
  const auto before = ReadText(folder_.Path(
      "store/models/r." + std::to_string(stopped["committed_rounds"].get<int>()) + ".safetensors"));
  EXPECT_EQ(*FlatModel(ReadText(folder_.Path("store/models/r-1.0.safetensors"))), *FlatModel(before));

  // Again: what was started goes on.
  ASSERT_EQ(Run({"run", "split", "r", "--json"}), 0) << Said();
  EXPECT_EQ(json::parse(Said())["runs"].size(), 2U);
  EXPECT_EQ(json::parse(Said())["alone"], json::array());
}

// A run that was stopped for nothing is lost.
TEST_F(RunSplitTest, StopsNothingWhereItCouldNotDoTheRest) {
  Start("[clusters]\nmost = 3\n");
  for (const char* name : {"a1", "a2", "b1", "b2", "b3"}) AddNode(name);
  ASSERT_TRUE(WaitFor([&] { return Answer("r").value(json::json_pointer("/run/clusters"), 0) == 2; }))
      << Answer("r");
  const std::string model = folder_.Path("w.safetensors");
  const std::string other = folder_.Write("other.toml",
                                          "name = \"r-2\"\nnodes = [\"z\"]\nmin_nodes = 1\nquorum = "
                                          "1\n[client]\nworkload = \"external\"\ntrainer = "
                                          "\"any\"\n");
  ASSERT_EQ(Run({"run", "start", other, "--model", model}), 0) << Said();
  for (const char* check : {"--check", "--json"}) {
    EXPECT_EQ(Run({"run", "split", "r", check}), 1);
    EXPECT_THAT(Said(), HasSubstr("there is a run r-2 already: --name gives the new runs another name"));
  }
  EXPECT_EQ(Run({"run", "split", "r", "--name", std::string(63, 'x')}), 1);
  EXPECT_THAT(Said(), HasSubstr("would be too long: --name gives"));
  EXPECT_EQ(Run({"run", "split", "r", "--name", "../x"}), 65);
  EXPECT_THAT(Said(), HasSubstr("--name: ../x must have"));
  EXPECT_NE(Answer("r")["run"]["state"], "RUN_STATE_STOPPED");
  EXPECT_EQ(Answer("r-1"), json::object());

  AddNode("late");
  ASSERT_TRUE(WaitFor([&] { return Answer("r")["run"]["joined_nodes"] == 6; }));
  ASSERT_EQ(Run({"run", "split", "r", "--name", "s"}), 0) << Said();
  EXPECT_THAT(Said(), HasSubstr("in no run: late\n"));
  EXPECT_TRUE(WaitFor([&] { return Committed("s-1") >= 1 && Committed("s-2") >= 1; })) << Answer("s-1");
}

class RunSplitRoomTest : public RunSplitTest {
 protected:
  RunSplitRoomTest() : RunSplitTest("max_runs = 1\n") {}
};

TEST_F(RunSplitRoomTest, StopsNothingWhereThereIsNoRoomForTheNewRuns) {
  Start("[clusters]\nmost = 3\n");
  for (const char* name : {"a1", "a2", "b1", "b2", "b3"}) AddNode(name);
  ASSERT_TRUE(WaitFor([&] { return Answer("r").value(json::json_pointer("/run/clusters"), 0) == 2; }))
      << Answer("r");
  EXPECT_EQ(Run({"run", "split", "r"}), 1);
  EXPECT_THAT(Said(), HasSubstr("2 runs would be started, and the aggregator has room for 1"));
  EXPECT_NE(Answer("r")["run"]["state"], "RUN_STATE_STOPPED");
}

TEST_F(RunSplitTest, SaysWhyThereIsNothingToSplit) {
  Start("");
  EXPECT_EQ(Run({"run", "split", "r"}), 1);
  EXPECT_THAT(Said(), HasSubstr("no clusters were found in r: its file has no [clusters] with most"));
  EXPECT_NE(Answer("r")["run"]["state"], "RUN_STATE_STOPPED");
  EXPECT_EQ(Run({"run", "split", "nobody"}), 1);
  EXPECT_THAT(Said(), Not(HasSubstr("clusters")));
}

}  // namespace
}  // namespace tributary::testing
