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
    LearningStatus learning;
    learning.node = node;
    learning.run = run;
    learning.connected = connected;
    learners_.push_back(learning);
  }
  // "site/node: run run …" of each node.
  std::vector<std::string> Names(const std::string& site) const {
    std::vector<std::string> names;
    for (const KnownNode& node : ListKnownNodes(
             fleet_, [this] { return learners_; }, site)) {
      std::string name = node.report.process.site + "/" + node.report.process.node + ":";
      for (const LearningStatus& each : node.learns) name += " " + each.run;
      names.push_back(name);
    }
    return names;
  }

  Fleet fleet_;
  std::vector<LearningStatus> learners_;
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
  EXPECT_FALSE(ListKnownNodes(
                   fleet_, [this] { return learners_; }, "")
                   .at(0)
                   .report.connected);
  Learn("board", "digits", true);
  EXPECT_TRUE(ListKnownNodes(
                  fleet_, [this] { return learners_; }, "")
                  .at(0)
                  .report.connected);
}

TEST_F(KnownNodesTest, AnAggregatorWithoutFederationListsWhatReports) {
  Report("lab", "south");
  EXPECT_EQ(ListKnownNodes(fleet_, {}, "").size(), 1u);
}

}  // namespace
}  // namespace tributary::publish
