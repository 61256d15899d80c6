// Clusters of nodes in a run, and runs for some nodes alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RoundsHost;
using testing::TestNode;

constexpr std::size_t kClusteredElements = 200;
const std::string kFiveNodes =
    "name = \"r\"\nrounds = 20\nmin_nodes = 5\ndeadline_s = 30\n[client]\nlocal_steps = 1\n";

class ClustersTest : public ::testing::Test {
 protected:
  ClustersTest() { host_.Start(); }

  void Start(const std::string& config) {
    const grpc::Status status = host_.StartRun(config, RoundsHost::ModelFile(kClusteredElements));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  // Nodes that start with the same letter move the model in one direction.
  void Join(const std::vector<std::string>& names) {
    for (const std::string& name : names) nodes_[name] = std::make_unique<TestNode>(host_, name);
  }
  void TrainRound() {
    for (auto& [name, node] : nodes_) {
      nn::RandomStream random(static_cast<std::uint64_t>(name.front()));
      std::vector<float> update(kClusteredElements);
      for (float& value : update) value = static_cast<float>(random.Normal());
      const auto answer = node->Submit(node->NextTrain(), update);
      ASSERT_TRUE(answer.accepted()) << answer.message();
    }
  }
  std::vector<std::vector<std::string>> Found() const {
    std::vector<std::vector<std::string>> found;
    const v1::GetRunResponse run = host_.Run();
    for (const v1::Cluster& each : run.clusters().clusters()) {
      found.emplace_back(each.nodes().begin(), each.nodes().end());
    }
    return found;
  }

  RoundsHost host_;
  std::map<std::string, std::unique_ptr<TestNode>> nodes_;
};

TEST_F(ClustersTest, AreFoundShownAndKeptOverARestart) {
  Start(kFiveNodes + "[clusters]\nmost = 4\n");
  EXPECT_FALSE(host_.Run().has_clusters());
  Join({"ann", "amy", "bob", "bea", "ada"});
  for (int round = 1; round <= 6; ++round) {
    TrainRound();
    host_.WaitForRound(static_cast<std::uint32_t>(round));
    if (round == 5) {
      EXPECT_THAT(host_.Run().clusters().message(), HasSubstr("4 are needed"));
    }
  }
  EXPECT_THAT(Found(), ElementsAre(ElementsAre("ada", "amy", "ann"), ElementsAre("bea", "bob")));
  EXPECT_EQ(host_.Run().run().clusters(), 2U);
  EXPECT_EQ(host_.Run().clusters().round(), 6U);
  nodes_.clear();
  host_.Restart();
  EXPECT_THAT(Found(), ElementsAre(ElementsAre("ada", "amy", "ann"), ElementsAre("bea", "bob")));

  // Looking begins anew; what was found stays until something else is found.
  Join({"ann", "amy", "bob", "bea", "ada"});
  for (std::uint32_t round = 7; round <= 12; ++round) {
    TrainRound();
    host_.WaitForRound(round);
    EXPECT_THAT(Found(), ElementsAre(ElementsAre("ada", "amy", "ann"), ElementsAre("bea", "bob")));
    const v1::Clusters clusters = host_.Run().clusters();
    EXPECT_EQ(clusters.round(), round < 12 ? 6U : 12U);
    EXPECT_EQ(clusters.missing_since(), round < 12 ? 7U : 0U);
    EXPECT_EQ(clusters.message().empty(), round == 12) << clusters.message();
  }
}

TEST_F(ClustersTest, ARunForSomeNodesSaysWhoIsAway) {
  Start("nodes = [\"ann\", \"bob\", \"eve\"]\nmin_nodes = 2\nname = \"r\"\n");
  TestNode ann(host_, "ann");
  EXPECT_THAT(ann.Next().wait().reason(), Not(HasSubstr("bob"))) << "for operators";
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("1 of 2 required nodes connected; away: bob, eve"));
  EXPECT_EQ(host_.Run().run().named_nodes(), 3U);
}

TEST_F(ClustersTest, ARunThatDoesNotLookForThemHasNone) {
  Start(kFiveNodes);
  Join({"ann", "amy", "bob", "bea", "ada"});
  TrainRound();
  host_.WaitForRound(1);
  EXPECT_FALSE(host_.Run().has_clusters());
}

TEST_F(ClustersTest, APartialSumIsNoNodesUpdate) {
  Start(kFiveNodes + "[clusters]\nmost = 4\n");
  v1::ParticipateRequest child;
  child.set_node("child");
  child.set_boot_id(std::string(16, 'b'));
  child.set_partial_sums(true);
  child.set_run("r");
  const auto stub = v1::FederationService::NewStub(host_.channel());
  grpc::ClientContext context;
  const auto stream = stub->Participate(&context, child);
  v1::ParticipateResponse task;
  EXPECT_FALSE(stream->Read(&task));
  EXPECT_THAT(stream->Finish().error_message(), HasSubstr("it compares single updates"));
}

TEST_F(ClustersTest, ARunWithNamesRefusesOtherNodes) {
  Start("nodes = [\"ann\", \"bob\"]\nmin_nodes = 2\nname = \"r\"\n");
  TestNode stranger(host_, "eve");
  EXPECT_THAT(stranger.End().error_message(), HasSubstr("\"eve\" is none of them"));
  TestNode ann(host_, "ann"), bob(host_, "bob");
  EXPECT_EQ(ann.NextTrain().round(), 1U);
}

TEST_F(ClustersTest, ANodeThatNamesNoRunGetsTheFirstThatAdmitsIt) {
  Start("name = \"r\"\nnodes = [\"ann\"]\nmin_nodes = 1\n");
  Start("name = \"s\"\nnodes = [\"bob\"]\nmin_nodes = 1\n");
  TestNode ann(host_, "ann", 1, ""), bob(host_, "bob", 1, ""), eve(host_, "eve", 1, "");
  EXPECT_EQ(ann.Next().run(), "r");
  EXPECT_EQ(bob.Next().run(), "s");
  EXPECT_THAT(eve.Next().wait().reason(), HasSubstr("no run for this node"));
}

}  // namespace
}  // namespace tributary::learning
