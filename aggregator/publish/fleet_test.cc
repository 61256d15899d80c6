#include "aggregator/publish/fleet.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "core/wire/hello.h"

namespace tributary::publish {
namespace {

v1::Hello Hello(const std::string& node, char boot) {
  v1::Hello hello;
  hello.set_site("lab");
  hello.set_node(node);
  hello.set_boot_id(std::string(16, boot));
  return hello;
}

TEST(FleetTest, TheNewestStreamOfANodeSupersedesTheOlder) {
  Fleet fleet;
  const auto first = fleet.Join(Hello("north", 1));
  const auto second = fleet.Join(Hello("north", 1));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(first->superseded_another);
  EXPECT_TRUE(second->superseded_another);
  EXPECT_EQ(second->record->latest_stream, second->stream);
  EXPECT_NE(second->record->latest_stream, first->stream);
}

TEST(FleetTest, RemembersTheAcknowledgedSequenceOfABootIdOnly) {
  Fleet fleet;
  fleet.Join(Hello("north", 1))->record->acknowledged_sequence = 41;
  EXPECT_EQ(fleet.Join(Hello("north", 1))->record->acknowledged_sequence, 41u);
  EXPECT_EQ(fleet.Join(Hello("north", 2))->record->acknowledged_sequence, 0u);
}

TEST(FleetTest, RefusesMoreNodesThanItHolds) {
  Fleet fleet;
  for (std::size_t i = 0; i < Fleet::kMaxNodes; ++i)
    ASSERT_TRUE(fleet.Join(Hello("n" + std::to_string(i), 1)).ok());
  EXPECT_EQ(fleet.Join(Hello("one more", 1)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(fleet.Join(Hello("n0", 2)).ok());
}

// On the heap; 0 under a sanitizer.
std::size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(FleetTest, KeepsNothingOfAHelloThatItDoesNotKnow) {
  constexpr int kFields = 100'000;
  Fleet fleet;
  v1::Hello hello = Hello("north", 1);
  wire::AddSource(hello, "south", 2, {"south"});
  const std::size_t before = BytesInUse();
  for (google::protobuf::Message* message :
       {static_cast<google::protobuf::Message*>(&hello),
        static_cast<google::protobuf::Message*>(hello.mutable_sources(0)),
        static_cast<google::protobuf::Message*>(hello.mutable_model())}) {
    auto* unknown = message->GetReflection()->MutableUnknownFields(message);
    for (int i = 0; i < kFields; ++i) unknown->AddVarint(1000, 1);
  }
  const std::size_t with_hello = BytesInUse();
  if (with_hello < before + kFields) GTEST_SKIP() << "a sanitizer's heap does not tell its size";
  ASSERT_TRUE(fleet.Join(hello).ok());
  EXPECT_LT(BytesInUse(), with_hello + kFields);
  EXPECT_EQ(fleet.List("lab")[0].sources(0), "south");
}

TEST(FleetTest, ASourceHasOneReporterAtATime) {
  Fleet fleet;
  v1::Hello panel = Hello("board-1", 1);
  wire::AddSource(panel, "south", 2, {"south"});
  const auto first = fleet.Join(panel);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(fleet.CheckSourcesFree(panel).ok()) << "a node may come again";

  v1::Hello stranger = panel;
  stranger.set_node("board-2");
  const absl::Status refused = fleet.CheckSourcesFree(stranger);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(refused.message()).find("board-1"), std::string::npos);

  stranger.set_site("elsewhere");
  EXPECT_TRUE(fleet.CheckSourcesFree(stranger).ok());
  stranger.set_site("lab");
  first->record->connected_stream = 0;
  EXPECT_TRUE(fleet.CheckSourcesFree(stranger).ok()) << "a board may be replaced";
}

TEST(FleetTest, CountsTheNodesOfASiteAndSaysWhichLeavesAreConnected) {
  Fleet fleet;
  v1::Hello panel = Hello("board-1", 1);
  wire::AddSource(panel, "roof", 2, {"south", "east"});
  const auto first = fleet.Join(panel);
  ASSERT_TRUE(first.ok());
  panel.set_node("board-2");
  panel.clear_sources();
  wire::AddSource(panel, "north", 2, {"north"});
  const auto second = fleet.Join(panel);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(fleet.CountNodes("lab").known, 2u);
  EXPECT_EQ(fleet.CountNodes("lab").connected, 2u);
  EXPECT_EQ(fleet.ConnectedLeaves("lab"), (std::set<std::string>{"south", "east", "north"}));
  first->record->connected_stream = 0;
  EXPECT_EQ(fleet.CountNodes("lab").known, 2u) << "a node that left is still known";
  EXPECT_EQ(fleet.CountNodes("lab").connected, 1u);
  EXPECT_EQ(fleet.ConnectedLeaves("lab"), (std::set<std::string>{"north"}));
  EXPECT_EQ(fleet.CountNodes("elsewhere").known, 0u);
}

TEST(FleetTest, ListsTheNodesOfASite) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Join(Hello("north", 1)).ok());
  EXPECT_EQ(fleet.List("").size(), 1u);
  EXPECT_EQ(fleet.List("lab").size(), 1u);
  EXPECT_TRUE(fleet.List("elsewhere").empty());
}

class KnownNodesTest : public ::testing::Test {
 protected:
  void Report(const std::string& site, const std::string& node) {
    v1::Hello hello;
    hello.set_site(site);
    hello.set_node(node);
    ASSERT_TRUE(fleet_.Join(hello).ok());
  }
  void Learn(const std::string& node, const std::string& run, bool connected) {
    Learner learner{node, {}};
    learner.learning.set_run(run);
    learner.learning.set_connected(connected);
    learners_.push_back(std::move(learner));
  }
  absl::StatusOr<v1::ListNodesResponse> List(const std::string& site) const {
    return KnownNodes(
               fleet_, [this] { return learners_; }, {"lab", "hall"}, clock_)
        .List(site);
  }
  // "site/node: run run …" of each node.
  std::vector<std::string> Names(const std::string& site) const {
    const absl::StatusOr<v1::ListNodesResponse> response = List(site);
    std::vector<std::string> names;
    for (const v1::Node& node : response->nodes()) {
      std::string name = node.site() + "/" + node.name() + ":";
      for (const v1::Learning& each : node.learns()) name += " " + each.run();
      names.push_back(name);
    }
    return names;
  }

  const runtime::SystemClock clock_;
  Fleet fleet_;
  std::vector<Learner> learners_;
};

using Strings = std::vector<std::string>;

TEST_F(KnownNodesTest, ListsNodesThatOnlyLearnAfterThoseThatReport) {
  Report("lab", "south");
  Learn("board", "letters", true);
  EXPECT_EQ(Names(""), (Strings{"lab/south:", "/board: letters"}));
}

TEST_F(KnownNodesTest, ANodeThatReportsAndLearnsIsOneNode) {
  Report("lab", "south");
  Learn("south", "letters", true);
  Learn("south", "digits", false);
  EXPECT_EQ(Names(""), (Strings{"lab/south: letters digits"}));
}

TEST_F(KnownNodesTest, ASiteHasTheNodesThatReportToItAlone) {
  Report("lab", "south");
  Report("hall", "north");
  Learn("board", "letters", true);
  Learn("south", "letters", true);
  EXPECT_EQ(Names("lab"), (Strings{"lab/south: letters"}));
}

TEST_F(KnownNodesTest, ANodeThatOnlyLearnsIsConnectedInOneOfItsRuns) {
  Learn("board", "letters", false);
  EXPECT_FALSE(List("")->nodes(0).connected());
  Learn("board", "digits", true);
  EXPECT_TRUE(List("")->nodes(0).connected());
}

TEST_F(KnownNodesTest, AnAggregatorWithoutFederationListsWhatReports) {
  Report("lab", "south");
  EXPECT_EQ(KnownNodes(fleet_, {}, {"lab"}, clock_).List("")->nodes_size(), 1);
}

TEST_F(KnownNodesTest, NamesTheSitesWhateverIsAskedFor) {
  EXPECT_EQ(List("lab")->sites_size(), 2);
  EXPECT_EQ(List("nope").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tributary::publish
