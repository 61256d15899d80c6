#include "aggregator/learning/service/run_api.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tributary::learning {
namespace {

RunRecord RecordOf(const std::string& name, std::uint32_t committed) {
  RunRecord record;
  record.run.set_name(name);
  record.run.set_committed_rounds(committed);
  return record;
}

TEST(RunApiTest, TakesTheFieldsOfTheRequestFromTheQuery) {
  const auto all = GetRunRequestOf({.path = "", .query = {}, .rest = "letters"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->run(), "letters");
  EXPECT_EQ(all->rounds(), 0u);
  const auto page = GetRunRequestOf(
      {.path = "",
       .query = {{"rounds", "7"}, {"before", "9000000000"}, {"nodes", "5"}, {"after_node", "b"}},
       .rest = "letters"});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->rounds(), 7u);
  EXPECT_EQ(page->before(), 9'000'000'000);
  EXPECT_EQ(page->nodes(), 5u);
  EXPECT_EQ(page->after_node(), "b");
}

TEST(RunApiTest, AListOfRunsHasAHundredUnlessTheQuerySaysHowMany) {
  const auto limit = [](std::map<std::string, std::string> query) {
    return ListRunsRequestOf({.path = "", .query = std::move(query), .rest = ""});
  };
  EXPECT_EQ(limit({})->limit(), 100u);
  EXPECT_EQ(limit({{"limit", "0"}})->limit(), 100u);
  EXPECT_EQ(limit({{"limit", "1000"}})->limit(), 1000u);
  EXPECT_EQ(limit({{"after_run", "letters"}})->after_run(), "letters");
  EXPECT_EQ(limit({{"limit", "1001"}}).status().message(),
            "limit: expected an integer from 0 to 1000, found \"1001\"");
}

TEST(RunApiTest, SaysWhichParameterIsBadAndWhatIsAllowed) {
  for (const std::string bad : {"-1", "many", "4294967296", ""}) {
    const auto request = GetRunRequestOf({.path = "", .query = {{"rounds", bad}}, .rest = "letters"});
    EXPECT_EQ(request.status().message(),
              "rounds: expected an integer from 0 to 4294967295, found \"" + bad + "\"");
  }
  EXPECT_FALSE(GetRunRequestOf({.path = "", .query = {{"before", "-1"}}, .rest = "letters"}).ok());
  EXPECT_FALSE(GetRunRequestOf({.path = "", .query = {{"nodes", "1.5"}}, .rest = "letters"}).ok());
}

TEST(RunBoardTest, HoldsTheLatestViewOfEachRunInTheOrderOfTheirStart) {
  RunBoard board(nullptr, 8);
  board.Publish(RecordOf("b", 0));
  board.Publish(RecordOf("a", 0));
  board.Publish(RecordOf("b", 5));
  const RunBoard::Records runs = board.Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]->run.name(), "b");
  EXPECT_EQ(runs[0]->run.committed_rounds(), 5u);
  EXPECT_EQ(board.Find("nosuch"), nullptr);
}

TEST(RunBoardTest, GivesItsNodesByPages) {
  RunBoard board(nullptr, 8);
  std::vector<v1::Participant> nodes(3);
  nodes[0].set_node("c");
  nodes[1].set_node("a");
  nodes[2].set_node("b");
  board.Publish(RecordOf("r", 0), {nodes});
  nodes.resize(1);
  nodes[0].set_sample_count(7);
  board.Publish(RecordOf("r", 1), {nodes});
  const auto first = board.Nodes("r", "", 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].node(), "b");
  const auto rest = board.Nodes("r", first[1].node(), 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].sample_count(), 7u);
  EXPECT_TRUE(board.Nodes("nosuch", "", 2).empty());
}

TEST(RunBoardTest, ForgetsNodesThatGaveTheirPlaceBack) {
  RunBoard board(nullptr, 8);
  std::vector<v1::Participant> nodes(3);
  nodes[0].set_node("a");
  nodes[1].set_node("b");
  nodes[2].set_node("c");
  board.Publish(RecordOf("r", 0), {nodes});
  board.Publish(RecordOf("r", 1), {.forgotten = {"b"}});
  EXPECT_EQ(board.Nodes("r", "", 9).size(), 2u);
  nodes.resize(1);
  board.Publish(RecordOf("r", 1), {.nodes = nodes, .everyone = true});
  EXPECT_EQ(board.Nodes("r", "", 9).size(), 1u);
}

TEST(RunBoardTest, TellsListenersThatAreStillThere) {
  struct Counter final : RunBoard::Listener {
    void OnChange(const std::string& run) override { changes += run == "a"; }
    int changes = 0;
  };
  RunBoard board(nullptr, 8);
  const auto kept = std::make_shared<Counter>();
  auto gone = std::make_shared<Counter>();
  board.Add(kept);
  board.Add(gone);
  gone.reset();
  board.Publish(RecordOf("a", 0));
  EXPECT_EQ(kept->changes, 1);
}

}  // namespace
}  // namespace tributary::learning
