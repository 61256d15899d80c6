#include "aggregator/publish/fleet.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

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

// As many connected nodes as there may be, of two peers.
void Fill(Fleet& fleet) {
  for (std::size_t i = 0; i < Fleet::kMaxNodes; ++i) {
    ASSERT_TRUE(fleet.Join(Hello("n" + std::to_string(i), 1), i % 2 == 0 ? "even" : "odd").ok());
  }
}

TEST(FleetTest, RefusesMoreConnectedNodesThanItHolds) {
  Fleet fleet;
  Fill(fleet);
  EXPECT_EQ(fleet.Join(Hello("one more", 1), "new").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(fleet.Join(Hello("n0", 2), "even").ok());
}

TEST(FleetTest, RefusesMoreConnectedNodesOfOnePeerThanItsShare) {
  Fleet fleet;
  for (std::size_t i = 0; i < Fleet::kMaxNodesOfPeer; ++i) {
    ASSERT_TRUE(fleet.Join(Hello("n" + std::to_string(i), 1), "greedy").ok());
  }
  EXPECT_EQ(fleet.Join(Hello("one more", 1), "greedy").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(fleet.Join(Hello("one more", 1), "modest").ok());
}

TEST(FleetTest, ANodeThatHasLeftGivesItsPlaceToANewOne) {
  Fleet fleet;
  Fill(fleet);
  for (const char* left : {"n4", "n2"}) {
    const auto again = fleet.Join(Hello(left, 1), "even");
    ASSERT_TRUE(again.ok());
    fleet.Leave("lab", left, *again);
  }
  EXPECT_TRUE(fleet.Join(Hello("one more", 1), "new").ok());
  const std::vector<v1::Node> known = fleet.List("lab");
  const auto knows = [&known](const std::string& name) {
    return std::ranges::count(known, name, &v1::Node::name) == 1;
  };
  EXPECT_FALSE(knows("n4")) << "it left first";
  EXPECT_TRUE(knows("n2") && knows("one more"));
}

TEST(FleetTest, NamesThatNobodyUsesAnyMoreDoNotKeepOthersOut) {
  Fleet fleet;
  for (std::size_t i = 0; i < 3 * Fleet::kMaxNodes; ++i) {
    const std::string node = "n" + std::to_string(i);
    const auto joined = fleet.Join(Hello(node, 1), "hostile");
    ASSERT_TRUE(joined.ok());
    fleet.Leave("lab", node, *joined);
  }
  EXPECT_LE(fleet.List("lab").size(), Fleet::kMaxNodes);
  EXPECT_TRUE(fleet.Join(Hello("honest", 1), "honest").ok());
}

TEST(FleetTest, OnePeerHasAShareOfTheSourcesThatAreNoLeaves) {
  Fleet fleet;
  const auto with = [](const std::string& node, std::size_t sources) {
    v1::Hello hello = Hello(node, 1);
    for (std::size_t i = 0; i < sources; ++i) {
      wire::AddSource(hello, node + std::to_string(i), 2, {"south"});
    }
    return hello;
  };
  const v1::Hello first = with("a", Fleet::kMaxSourcesOfPeer);
  ASSERT_TRUE(fleet.CheckSourcesFree(first, "greedy", {"south"}).ok());
  ASSERT_TRUE(fleet.Join(first, "greedy").ok());
  EXPECT_EQ(fleet.CheckSourcesFree(with("b", 1), "greedy", {"south"}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(fleet.CheckSourcesFree(with("b", 1), "modest", {"south"}).ok());
  v1::Hello leaf = Hello("c", 1);
  wire::AddSource(leaf, "south", 2, {"south"});
  EXPECT_TRUE(fleet.CheckSourcesFree(leaf, "greedy", {"south"}).ok()) << "a leaf of the site always may";
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
  fleet.Leave("lab", "board-1", *first);
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
  EXPECT_EQ(fleet.PresenceIn("lab").known, 2u);
  EXPECT_EQ(fleet.PresenceIn("lab").connected, 2u);
  EXPECT_EQ(fleet.PresenceIn("lab").leaves, (std::set<std::string>{"south", "east", "north"}));
  fleet.Leave("lab", "board-1", *first);
  EXPECT_EQ(fleet.PresenceIn("lab").known, 2u) << "a node that left is still known";
  EXPECT_EQ(fleet.PresenceIn("lab").connected, 1u);
  EXPECT_EQ(fleet.PresenceIn("lab").leaves, (std::set<std::string>{"north"}));
  EXPECT_EQ(fleet.PresenceIn("elsewhere").known, 0u);
}

TEST(FleetTest, NamesTheModelAndTheSourcesOfANodeThatHasLeft) {
  Fleet fleet;
  v1::Hello hello = Hello("board-1", 1);
  hello.mutable_model()->set_name("indoor");
  for (const char* source : {"south", "east"}) wire::AddSource(hello, source, 2, {source});
  const auto first = fleet.Join(hello);
  ASSERT_TRUE(first.ok());
  first->record->acknowledged_sequence = 41;
  fleet.Leave("lab", "board-1", *first);
  const std::vector<v1::Node> left = fleet.List("lab");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(left[0].connected());
  EXPECT_EQ(left[0].model_name(), "indoor");
  ASSERT_EQ(left[0].sources_size(), 2);
  EXPECT_EQ(left[0].sources(0), "south");
  EXPECT_EQ(left[0].sources(1), "east");

  EXPECT_EQ(fleet.Join(hello)->record->acknowledged_sequence, 41u) << "it is the same process";
  const std::vector<v1::Node> again = fleet.List("lab");
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].connected());
  EXPECT_EQ(again[0].sources_size(), 2);
}

TEST(FleetTest, AStreamThatWasSupersededDoesNotEndItsSuccessor) {
  Fleet fleet;
  v1::Hello hello = Hello("board-1", 1);
  wire::AddSource(hello, "south", 2, {"south"});
  const auto older = fleet.Join(hello);
  ASSERT_TRUE(older.ok() && fleet.Join(hello).ok());
  fleet.Leave("lab", "board-1", *older);
  EXPECT_EQ(fleet.PresenceIn("lab").leaves, (std::set<std::string>{"south"}));
}

TEST(FleetTest, ListsTheNodesOfASite) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Join(Hello("north", 1)).ok());
  EXPECT_EQ(fleet.List("").size(), 1u);
  EXPECT_EQ(fleet.List("lab").size(), 1u);
  EXPECT_TRUE(fleet.List("elsewhere").empty());
}

}  // namespace
}  // namespace tributary::publish
