#include "aggregator/learning/service/run_api.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tributary {
namespace {

RunView ViewOf(const std::string& name, std::uint32_t committed) {
  RunView run;
  run.name = name;
  run.condition = RunCondition::kRunning;
  run.committed = committed;
  run.round = committed + 1;
  run.accepted = 1;
  run.refused = 2;
  run.totals = {5, 7, 0};
  run.model_sha256 = std::string(32, '\xab');
  RoundLine line;
  line.round = committed;
  line.loss = -0.5;
  line.judgement = Judgement{0.83, 0.8, 0.9, 0.79, 0.75, 0.7, 1000};
  run.history.push_back(std::make_shared<const RoundLine>(line));
  run.participants.push_back({"a", true, 10, committed, 1, 2, 0, "late", 0, ""});
  return run;
}

TEST(RunApiTest, ShowsARunWithItsHistoryAndItsNodes) {
  const nlohmann::json run = RunDetailsJson(ViewOf("letters", 3));
  EXPECT_EQ(run["state"], "running");
  EXPECT_EQ(run["committed_rounds"], 3);
  EXPECT_EQ(run["connected_nodes"], 1);
  EXPECT_FALSE(run.contains("accepted_updates")) << "of what?";
  EXPECT_EQ(run["totals"]["refused_updates"], 7);
  EXPECT_EQ(run["totals"]["accepted_updates"], 5);
  EXPECT_EQ(run["current_round"]["round"], 4);
  EXPECT_EQ(run["current_round"]["accepted_updates"], 1);
  EXPECT_EQ(run["current_round"]["refused_updates"], 2);
  EXPECT_EQ(run["model_sha256"].get<std::string>().substr(0, 4), "abab");
  EXPECT_EQ(run["history"][0]["evaluation"]["random_linear_probe"], 0.79);
  EXPECT_EQ(run["nodes"][0]["last_refusal"], "late");
}

TEST(RunApiTest, HasNoCurrentRoundBetweenRounds) {
  RunView run = ViewOf("letters", 3);
  run.round = 0;
  EXPECT_TRUE(RunDetailsJson(run)["current_round"].is_null());
}

// A double, which most readers of JSON have, is right up to 2^53.
TEST(RunApiTest, GivesNanosecondsToTheLastDigit) {
  RunView run = ViewOf("letters", 3);
  run.started_unix_ns = 1'700'000'000'123'456'789;
  run.deadline_unix_ns = 1'700'000'000'123'456'781;
  RoundLine line;
  line.started_unix_ns = 1'700'000'000'123'456'783;
  line.ended_unix_ns = 1'700'000'000'123'456'785;
  run.history = {std::make_shared<const RoundLine>(line)};
  const nlohmann::json value = RunDetailsJson(run);
  EXPECT_EQ(value["started_unix_ns"], "1700000000123456789");
  EXPECT_EQ(value["current_round"]["deadline_unix_ns"], "1700000000123456781");
  EXPECT_EQ(value["history"][0]["started_unix_ns"], "1700000000123456783");
  EXPECT_EQ(value["history"][0]["ended_unix_ns"], "1700000000123456785");
}

TEST(RunBoardTest, HoldsTheLatestViewOfEachRunInTheOrderOfTheirStart) {
  RunBoard board;
  board.Publish(ViewOf("b", 0));
  board.Publish(ViewOf("a", 0));
  board.Publish(ViewOf("b", 5));
  const RunBoard::RunList runs = board.Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]->name, "b");
  EXPECT_EQ(runs[0]->committed, 5u);
  EXPECT_EQ(board.Find("nosuch"), nullptr);
}

TEST(RunBoardTest, TellsListenersThatAreStillThere) {
  struct Counter final : RunBoard::Listener {
    void OnChange() override { ++changes; }
    int changes = 0;
  };
  RunBoard board;
  const auto kept = std::make_shared<Counter>();
  auto gone = std::make_shared<Counter>();
  board.Add(kept);
  board.Add(gone);
  gone.reset();
  board.Publish(ViewOf("a", 0));
  EXPECT_EQ(kept->changes, 1);
}

}  // namespace
}  // namespace tributary
