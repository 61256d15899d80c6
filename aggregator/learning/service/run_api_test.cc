#include "aggregator/learning/service/run_api.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tributary::learning {
namespace {

v1::GetRunResponse ResponseOf(const std::string& name, std::uint32_t committed) {
  v1::GetRunResponse response;
  v1::Run& run = *response.mutable_run();
  run.set_name(name);
  run.set_state(v1::RUN_STATE_RUNNING);
  run.set_committed_rounds(committed);
  run.set_round(committed + 1);
  run.set_accepted_updates(1);
  run.set_round_refused_updates(2);
  run.set_total_accepted_updates(5);
  run.set_refused_updates(7);
  run.set_connected_nodes(1);
  run.set_model_sha256(std::string(32, '\xab'));
  v1::Round& line = *response.add_history();
  line.set_round(committed);
  line.set_loss(-0.5);
  line.mutable_evaluation()->set_random_linear_probe(0.79);
  v1::Participant& node = *response.add_participants();
  node.set_node("a");
  node.set_last_refusal("late");
  return response;
}

RunRecord RecordOf(const std::string& name, std::uint32_t committed) {
  RunRecord record;
  record.run = ResponseOf(name, committed).run();
  return record;
}

TEST(RunApiTest, ShowsARunWithItsHistoryAndItsNodes) {
  const nlohmann::json run = RunDetailsJson(ResponseOf("letters", 3));
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
  v1::GetRunResponse run = ResponseOf("letters", 3);
  run.mutable_run()->set_round(0);
  EXPECT_TRUE(RunDetailsJson(run)["current_round"].is_null());
}

// A double, which most readers of JSON have, is right up to 2^53.
TEST(RunApiTest, GivesNanosecondsToTheLastDigit) {
  v1::GetRunResponse run = ResponseOf("letters", 3);
  run.mutable_run()->set_started_unix_ns(1'700'000'000'123'456'789);
  run.mutable_run()->set_deadline_unix_ns(1'700'000'000'123'456'781);
  run.mutable_history(0)->set_started_unix_ns(1'700'000'000'123'456'783);
  run.mutable_history(0)->set_ended_unix_ns(1'700'000'000'123'456'785);
  const nlohmann::json value = RunDetailsJson(run);
  EXPECT_EQ(value["started_unix_ns"], "1700000000123456789");
  EXPECT_EQ(value["current_round"]["deadline_unix_ns"], "1700000000123456781");
  EXPECT_EQ(value["history"][0]["started_unix_ns"], "1700000000123456783");
  EXPECT_EQ(value["history"][0]["ended_unix_ns"], "1700000000123456785");
}

TEST(RunBoardTest, HoldsTheLatestViewOfEachRunInTheOrderOfTheirStart) {
  RunBoard board(nullptr);
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
  RunBoard board(nullptr);
  std::vector<v1::Participant> nodes(3);
  nodes[0].set_node("c");
  nodes[1].set_node("a");
  nodes[2].set_node("b");
  board.Publish(RecordOf("r", 0), nodes);
  nodes.resize(1);
  nodes[0].set_sample_count(7);
  board.Publish(RecordOf("r", 1), nodes);
  const auto first = board.Nodes("r", "", 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].node(), "b");
  const auto rest = board.Nodes("r", first[1].node(), 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].sample_count(), 7u);
  EXPECT_TRUE(board.Nodes("nosuch", "", 2).empty());
}

TEST(RunBoardTest, TellsListenersThatAreStillThere) {
  struct Counter final : RunBoard::Listener {
    void OnChange() override { ++changes; }
    int changes = 0;
  };
  RunBoard board(nullptr);
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
