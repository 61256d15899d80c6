#include "aggregator/publish/aggregator_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::publish {
namespace {

class ListNodesTest : public ::testing::Test {
 protected:
  ListNodesTest() {
    for (const char* name : {"lab", "hall"}) {
      fusion::SiteConfig site;
      site.name = name;
      site.leaves = {"north"};
      state_.sites.Add(*fusion::FusionEngine::Create(site), "", metrics_);
    }
  }
  void Report(const std::string& site, const std::string& node) {
    v1::Hello hello;
    hello.set_site(site);
    hello.set_node(node);
    ASSERT_TRUE(state_.fleet.Join(hello).ok());
  }
  void Learn(const std::string& node, const std::string& run, bool connected) {
    v1::Learning& learning = learners_[node].emplace_back();
    learning.set_run(run);
    learning.set_connected(connected);
  }
  absl::StatusOr<v1::ListNodesResponse> List(const std::string& site) const {
    v1::ListNodesRequest request;
    request.set_site(site);
    return ListNodes(state_, request);
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
  runtime::Metrics metrics_;
  Learners learners_;
  AggregatorState state_{.clock = clock_, .learners = [this] { return learners_; }};
};

using Strings = std::vector<std::string>;

TEST_F(ListNodesTest, ListsNodesThatOnlyLearnAfterThoseThatReport) {
  Report("lab", "south");
  Learn("board", "letters", true);
  EXPECT_EQ(Names(""), (Strings{"lab/south:", "/board: letters"}));
}

TEST_F(ListNodesTest, ANodeThatReportsAndLearnsIsOneNode) {
  Report("lab", "south");
  Learn("south", "letters", true);
  Learn("south", "digits", false);
  EXPECT_EQ(Names(""), (Strings{"lab/south: letters digits"}));
}

TEST_F(ListNodesTest, ASiteHasTheNodesThatReportToItAlone) {
  Report("lab", "south");
  Report("hall", "north");
  Learn("board", "letters", true);
  Learn("south", "letters", true);
  EXPECT_EQ(Names("lab"), (Strings{"lab/south: letters"}));
}

TEST_F(ListNodesTest, ANodeThatOnlyLearnsIsConnectedInOneOfItsRuns) {
  Learn("board", "letters", false);
  EXPECT_FALSE(List("")->nodes(0).connected());
  Learn("board", "digits", true);
  EXPECT_TRUE(List("")->nodes(0).connected());
}

TEST_F(ListNodesTest, AnAggregatorWithoutFederationListsWhatReports) {
  Report("lab", "south");
  state_.learners = nullptr;
  EXPECT_EQ(List("")->nodes_size(), 1);
}

TEST_F(ListNodesTest, APageHasAsManyNodesAsItsLimit) {
  for (const char* node : {"east", "north", "south"}) Report("lab", node);
  Learn("zoo", "r", true);
  v1::ListNodesRequest request;
  request.set_limit(2);
  std::vector<std::string> names;
  for (bool more = true; more && names.size() < 10;) {
    const auto page = ListNodes(state_, request);
    ASSERT_TRUE(page.ok());
    EXPECT_LE(page->nodes_size(), 2);
    for (const v1::Node& node : page->nodes()) names.push_back(node.name());
    request.set_after_site(page->nodes().rbegin()->site());
    request.set_after_node(page->nodes().rbegin()->name());
    more = page->more();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"east", "north", "south", "zoo"}));
}

TEST_F(ListNodesTest, TellsACallerThatIsNoViewerSo) {
  for (const char* node : {"east", "south"}) Report("lab", node);
  const auto own = ListNodes(state_, {}, "south");
  ASSERT_EQ(own->nodes_size(), 1);
  EXPECT_EQ(own->nodes(0).name(), "south");
  EXPECT_TRUE(own->only_caller());
  EXPECT_FALSE(List("")->only_caller());
}

TEST_F(ListNodesTest, NamesTheSitesWhateverIsAskedFor) {
  EXPECT_EQ(List("lab")->sites_size(), 2);
  EXPECT_EQ(List("nope").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tributary::publish
