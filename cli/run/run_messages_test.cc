#include "cli/run/run_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/connection.h"
#include "cli/table.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Round JudgedRound() {
  v1::Round round;
  round.set_round(7);
  round.set_accepted(2);
  round.set_asked(3);
  round.set_loss(-0.75);
  round.set_update_norm(0.5);
  v1::Evaluation& evaluation = *round.mutable_evaluation();
  evaluation.set_linear_probe(0.831);
  evaluation.set_knn(0.80);
  evaluation.set_spread(0.91);
  evaluation.set_random_linear_probe(0.79);
  evaluation.set_random_knn(0.755);
  evaluation.set_random_spread(0.66);
  return round;
}

TEST(RunMessagesTest, PutsEachFigureBesideTheRandomEncoders) {
  const std::string line = RoundLineText(JudgedRound());
  for (const char* part : {"2/3", "-0.7500", "83.1/79.0", "80.0/75.5", "0.91/0.66"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
}

TEST(RunMessagesTest, SaysAloudThatTrainingDoesNotHelp) {
  v1::Round round = JudgedRound();
  round.set_spread(0.9);
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("untrained")));
  round.set_spread(0.05);
  round.mutable_evaluation()->set_knn(0.7);
  EXPECT_THAT(RoundLineText(round), HasSubstr("  collapsed; worse than untrained by the nearest neighbours"));
}

TEST(RunMessagesTest, SaysOfARoundThatIsNotJudgedNothingAboutImages) {
  v1::Round round;
  round.set_round(7);
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("/0.0")));
}

TEST(RunMessagesTest, QuotesWhyARoundFailedInFull) {
  v1::Round round;
  round.set_failure(std::string(400, 'w') + " why");
  EXPECT_THAT(RoundLineText(round), HasSubstr(" why"));
}

TEST(RunMessagesTest, SaysOnceThatClustersWereFound) {
  v1::Run run;
  run.set_name("letters\x1b");
  EXPECT_EQ(ClusterNews(0, run), "");
  run.set_clusters(3);
  EXPECT_EQ(ClusterNews(3, run), "");
  const std::string news = ClusterNews(0, run);
  EXPECT_THAT(news, HasSubstr("3 clusters of nodes were found"));
  EXPECT_THAT(news, ::testing::Not(HasSubstr("\x1b")));
}

TEST(RunMessagesTest, NamesTheNodesOfEachCluster) {
  v1::GetRunResponse response;
  EXPECT_EQ(ClustersText(response), "");
  response.mutable_clusters()->set_message("the best division of 5 nodes has an agreement of 0.21");
  EXPECT_EQ(ClustersText(response), "no clusters: the best division of 5 nodes has an agreement of 0.21\n");
  response.mutable_run()->set_name("letters");
  v1::Clusters& found = *response.mutable_clusters();
  found.set_round(12);
  found.set_agreement(0.876);
  for (int node = 0; node < 90; ++node) found.add_clusters()->add_nodes("north-" + std::to_string(node));
  found.mutable_clusters(0)->add_nodes("\x1b[2Jgone");
  found.add_alone("west");
  const std::string text = ClustersText(response);
  EXPECT_THAT(text, HasSubstr("90 clusters after round 12, agreement 0.88 (tributary run split letters)\n"));
  EXPECT_THAT(text, HasSubstr("\n  90: north-89\n  alone: west\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  found.add_alone("b, b1");
  found.set_missing_since(50);
  found.set_message("they moved little");
  EXPECT_THAT(ClustersText(response),
              HasSubstr("\n  alone: west, \"b, b1\"\n  not found again since round 50: they moved little\n"));
}

TEST(RunMessagesTest, OffersNoSplitOfARunThatWasSplit) {
  v1::GetRunResponse response;
  response.mutable_run()->set_name("clu");
  response.mutable_run()->set_state(v1::RUN_STATE_STOPPED);
  response.mutable_clusters()->add_clusters()->add_nodes("a");
  response.mutable_clusters()->add_clusters()->add_nodes("b");
  EXPECT_THAT(ClustersText(response), ::testing::StartsWith("2 clusters after round 0, agreement 0.00\n"));
  v1::ListRunsResponse runs;
  for (const char* name : {"clu", "clu-1", "clu-2", "clu-3"}) {
    v1::Run& run = *runs.add_runs();
    run.set_name(name);
    run.set_named_nodes(1);
  }
  EXPECT_THAT(RunText(response, runs), HasSubstr("agreement 0.00 (split into clu-1, clu-2)\n"));
  response.mutable_run()->set_state(v1::RUN_STATE_FINISHED);
  EXPECT_THAT(ClustersText(response, runs), HasSubstr("(split into clu-1, clu-2)\n"));
  runs.mutable_runs(1)->set_named_nodes(0);
  runs.mutable_runs(2)->set_named_nodes(0);
  EXPECT_THAT(ClustersText(response, runs), HasSubstr("(tributary run split clu)\n")) << "another's names";
}

TEST(RunMessagesTest, SaysThatARunIsPausedAndGoesOn) {
  v1::Run run;
  run.set_name("letters");
  run.set_state(v1::RUN_STATE_PAUSED);
  EXPECT_TRUE(IsPauseNews(v1::RUN_STATE_RUNNING, run));
  EXPECT_TRUE(IsPauseNews(v1::RUN_STATE_UNSPECIFIED, run));
  EXPECT_FALSE(IsPauseNews(v1::RUN_STATE_PAUSED, run));
  EXPECT_THAT(RunSummary(run), HasSubstr("letters: paused"));
  run.set_state(v1::RUN_STATE_RUNNING);
  EXPECT_TRUE(IsPauseNews(v1::RUN_STATE_PAUSED, run));
  EXPECT_FALSE(IsPauseNews(v1::RUN_STATE_WAITING, run)) << "its rounds say it";
  run.set_state(v1::RUN_STATE_STOPPED);
  EXPECT_FALSE(IsPauseNews(v1::RUN_STATE_PAUSED, run)) << "the last line says it";
}

TEST(RunMessagesTest, KeepsAPeersControlCharactersOffTheTerminal) {
  v1::Round round;
  round.set_failure("\x1b[2Jgone");
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("\x1b")));
  EXPECT_THAT(
      std::string(
          FromPeer(grpc::Status(grpc::StatusCode::NOT_FOUND, "\x1b[2J"), {.aggregator = "host:1"}).message()),
      Not(HasSubstr("\x1b")));
}

TEST(RunMessagesTest, CountsRoundsBeyondWhatAnybodyReads) {
  v1::GetRunResponse response;
  for (std::size_t i = 0; i < Table::kMaxRows + 3; ++i) response.add_history();
  EXPECT_THAT(RunText(response), ::testing::EndsWith("\n3 more\n"));
}

TEST(RunMessagesTest, SaysThatAWaitingRunsNodesAreInAnEarlierOne) {
  v1::ListRunsResponse runs;
  const auto add = [&runs](const char* name, v1::RunState state, std::uint32_t nodes) -> v1::Run& {
    v1::Run& run = *runs.add_runs();
    run.set_name(name);
    run.set_state(state);
    run.set_connected_nodes(nodes);
    run.set_message("said");
    return run;
  };
  add("over", v1::RUN_STATE_FINISHED, 4);
  add("first", v1::RUN_STATE_RUNNING, 4);
  const v1::Run second = add("second", v1::RUN_STATE_WAITING, 0);
  const std::string behind = "; nodes that name no run take part in \"first\" until it ends";
  EXPECT_EQ(WaitsBehind(runs, second), behind);
  EXPECT_THAT(RunsText(runs), HasSubstr("said" + behind + "\n"));
  EXPECT_EQ(WaitsBehind(runs, runs.runs(1)), "") << "it does not wait";
  v1::GetRunResponse shown;
  *shown.mutable_run() = second;
  EXPECT_THAT(RunText(shown, runs), HasSubstr("said" + behind + "\nmodel "));
  runs.mutable_runs(1)->set_connected_nodes(0);
  EXPECT_EQ(WaitsBehind(runs, second), "") << "nobody is kept there";
  runs.mutable_runs(1)->set_connected_nodes(4);
  runs.mutable_runs(1)->set_named_nodes(4);
  EXPECT_EQ(WaitsBehind(runs, second), "") << "it admits no others";
  runs.mutable_runs(1)->set_state(v1::RUN_STATE_STOPPED);
  EXPECT_EQ(WaitsBehind(runs, second), "");
}

TEST(RunMessagesTest, SaysWhatAnAggregatorWithoutRunsLacks) {
  const absl::Status status =
      FromPeer(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""), {.aggregator = "host:1"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("[federation]"));
}

TEST(RunMessagesTest, SaysWhatToDoWhereTlsStandsInTheWay) {
  const ConnectionArguments plain{.aggregator = "10.0.0.1:7400"};
  const ConnectionArguments tls{.aggregator = "10.0.0.1:7400", .tls = {"a", "b", "c"}};
  const auto unavailable = [](const ConnectionArguments& connection, const char* message) {
    return std::string(FromPeer(grpc::Status(grpc::StatusCode::UNAVAILABLE, message), connection).message());
  };
  EXPECT_THAT(unavailable(tls, "Peer name 10.0.0.1 is not in peer certificate"),
              HasSubstr("--server NAME=ADDRESS"));
  EXPECT_THAT(unavailable(plain, "Socket closed"), HasSubstr("--certificate"));
  EXPECT_THAT(unavailable(tls, "Socket closed"), Not(HasSubstr("--certificate")));
  EXPECT_THAT(unavailable(tls, "Socket closed"), HasSubstr("it may not trust a"));
  EXPECT_THAT(unavailable(tls, "Ssl handshake failed: SSL_ERROR_SSL: asn1 encoding routines::EVP lib"),
              HasSubstr("is not signed by the CA in the ca file: give the ca.pem that was made together with "
                        "the peer's certificate (here: c)"));
}

TEST(RunMessagesTest, TellsNoFiguresOfARoundThatTookNoUpdate) {
  v1::Round round;
  round.set_round(19);
  round.set_asked(4);
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("0.0000")));
}

TEST(RunMessagesTest, SaysWhoDeclinedARoundAndWhy) {
  v1::Round round = JudgedRound();
  round.set_declined(2);
  v1::RoundDecline& decline = *round.add_declines();
  decline.set_node("b3");
  decline.set_reason("images");
  decline.set_message("images of side 32\x1b[2J");
  EXPECT_THAT(RoundLineText(round), HasSubstr("2 declined: b3: images: images of side 32"));
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("\x1b")));
  round.set_failure("1 of 3 nodes answered; 2 declined, b3 because of images");
  EXPECT_THAT(RoundLineText(round), Not(HasSubstr("2 declined: b3"))) << "the failure says it";
}

TEST(RunMessagesTest, TellsANodeThatCannotTrainFromOneThatCan) {
  v1::Run run;
  run.set_state(v1::RUN_STATE_RUNNING);
  v1::Participant node;
  EXPECT_EQ(ParticipantState(run, node), "away");
  node.set_connected(true);
  EXPECT_EQ(ParticipantState(run, node), "connected");
  node.set_cannot_train("images: of side 32");
  EXPECT_EQ(ParticipantState(run, node), "cannot train");
}

TEST(RunMessagesTest, MissesNoNodeOfARunThatHasEnded) {
  v1::Run run;
  run.set_state(v1::RUN_STATE_FINISHED);
  EXPECT_EQ(ParticipantState(run, {}), "done");
}

TEST(RunMessagesTest, SaysWhatARollbackOfAnEndedRunDoes) {
  v1::Run run;
  run.set_name("letters");
  run.set_state(v1::RUN_STATE_STOPPED);
  EXPECT_EQ(RollBackText(run, 2),
            "letters: run:letters is the model after round 2 now; the run is stopped and trains no further");
  run.set_state(v1::RUN_STATE_RUNNING);
  EXPECT_EQ(RollBackText(run, 2), "letters: goes on from the model after round 2; running");
}

}  // namespace
}  // namespace tributary::cli
