#include "aggregator/publish/known_nodes.h"

#include <gtest/gtest.h>

namespace tributary::publish {
namespace {

class KnownNodesTest : public ::testing::Test {
 protected:
  void Report(const std::string& site, const std::string& node) {
    wire::ReportingProcess process;
    process.site = site;
    process.node = node;
    ASSERT_TRUE(fleet_.Join(process).ok());
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
