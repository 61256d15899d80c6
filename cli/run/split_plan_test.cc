#include "cli/run/split_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A run that needs eight of its nodes, in two clusters of six and four.
v1::GetRunResponse TwoClusters() {
  v1::GetRunResponse response;
  v1::Run& run = *response.mutable_run();
  run.set_name("r");
  run.set_rounds(10);
  run.set_committed_rounds(4);
  run.set_config("name = \"r\"\nrounds = 10\nmin_nodes = 8\nquorum = 5\n[clusters]\nmost = 3\n");
  for (const std::vector<std::string>& nodes :
       {std::vector<std::string>{"a1", "a2", "a3", "a4", "a5", "a6"}, {"b1", "b2", "b3", "b4"}}) {
    v1::Cluster& cluster = *response.mutable_clusters()->add_clusters();
    cluster.mutable_nodes()->Add(nodes.begin(), nodes.end());
    for (const std::string& node : nodes) {
      v1::Participant& participant = *response.add_participants();
      participant.set_node(node);
      participant.set_connected(true);
    }
  }
  return response;
}

SplitPlan PlanOf(const v1::GetRunResponse& response) {
  return PlanSplit(response, "s", ConnectedNodes(response)).value();
}

TEST(SplitPlanTest, ARunForEachClusterNeedsItsPartOfTheNodes) {
  const SplitPlan plan = PlanOf(TwoClusters());
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(plan.runs[0].parsed.name, "s-1");
  EXPECT_EQ(plan.runs[0].parsed.min_nodes, 5u);  // 4.8
  EXPECT_EQ(plan.runs[0].parsed.quorum, 3u);
  EXPECT_EQ(plan.runs[1].parsed.min_nodes, 4u);  // 3.2
  EXPECT_EQ(plan.runs[1].parsed.rounds, 6u);
  EXPECT_THAT(plan.runs[1].parsed.nodes, ElementsAre("b1", "b2", "b3", "b4"));
  EXPECT_TRUE(plan.outside.away().empty());
}

TEST(SplitPlanTest, NamesWhoIsAwayAndWaitsForNoneOfThem) {
  v1::GetRunResponse response = TwoClusters();
  for (const int away : {6, 7}) response.mutable_participants(away)->set_connected(false);
  const SplitPlan plan = PlanOf(response);
  EXPECT_THAT(plan.outside.away(), ElementsAre("b1", "b2"));
  EXPECT_EQ(plan.runs[0].parsed.min_nodes, 5u);
  EXPECT_EQ(plan.runs[1].parsed.min_nodes, 2u);
  EXPECT_EQ(plan.runs[1].parsed.quorum, 2u);
}

TEST(SplitPlanTest, NamesWhoIsInNoRun) {
  v1::GetRunResponse response = TwoClusters();
  response.mutable_clusters()->add_alone("lone");
  for (const char* name : {"lone", "new"}) {
    v1::Participant& participant = *response.add_participants();
    participant.set_node(name);
    participant.set_connected(true);
  }
  response.add_participants()->set_node("left long ago");
  const SplitPlan plan = PlanOf(response);
  EXPECT_THAT(plan.outside.alone(), ElementsAre("lone"));
  EXPECT_THAT(plan.outside.not_judged(), ElementsAre("new"));
}

// A run that has ended has no connected nodes: a split that goes on later has another number of them.
TEST(SplitPlanTest, KnowsTheRunsOfAnEarlierSplit) {
  v1::GetRunResponse response = TwoClusters();
  const SplitPlan later = PlanOf(response);
  response.mutable_participants(6)->set_connected(false);
  const SplitPlan first = PlanOf(response);
  EXPECT_NE(first.runs[1].config, later.runs[1].config);
  EXPECT_TRUE(IsOfSamePlan(later.runs[1], first.runs[1].config));
  EXPECT_FALSE(IsOfSamePlan(later.runs[1], first.runs[0].config));
  EXPECT_FALSE(IsOfSamePlan(later.runs[1], "min_nodes = "));
}

TEST(SplitPlanTest, RefusesNamesThatAreTooLong) {
  const auto plan = PlanSplit(TwoClusters(), std::string(63, 'x'), {});
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("--name gives"));
}

}  // namespace
}  // namespace tributary::cli
