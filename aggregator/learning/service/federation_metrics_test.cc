#include "aggregator/learning/service/federation_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunView ViewOf(std::uint32_t round, std::optional<Judgement> judgement) {
  RunView run;
  run.name = "letters";
  run.committed = round;
  RoundLine line;
  line.round = round;
  line.judgement = judgement;
  run.history.push_back(std::make_shared<const RoundLine>(line));
  return run;
}

TEST(RunMetricsTest, ShowsTheLatestFiguresBesideTheRandomEncoders) {
  RunBoard board;
  Metrics metrics;
  RunMetrics runs(board, metrics);
  RunView run = ViewOf(10, Judgement{0.875, 0.75, 0.5, 0.625, 0.375, 0.25, 1000});
  // A later round that is not judged hides nothing.
  run.history.push_back(ViewOf(11, std::nullopt).history.front());
  board.Publish(run);
  runs.Refresh();
  for (const char* line : {"linear_probe{run=\"letters\"} 0.875", "knn{run=\"letters\"} 0.75",
                           "test_spread{run=\"letters\"} 0.5", "random_linear_probe{run=\"letters\"} 0.625",
                           "random_knn{run=\"letters\"} 0.375", "random_test_spread{run=\"letters\"} 0.25"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("\ntributary_run_") + line));
  }
}

// Failed rounds and rollbacks have no loss.
TEST(RunMetricsTest, ShowsTheLossOfTheLastCommittedRound) {
  RunBoard board;
  Metrics metrics;
  RunMetrics runs(board, metrics);
  RunView run;
  run.name = "letters";
  run.participants.resize(3);
  run.participants[0].connected = true;
  run.participants[0].cannot_train = "images: of side 32";
  run.participants[1].connected = true;
  run.participants[2].cannot_train = "it is away";
  RoundLine committed, failed, rolled_back;
  committed.started_unix_ns = 1'000'000'000;
  committed.ended_unix_ns = 3'500'000'000;
  committed.loss = -0.75;
  failed.failure = "too few updates";
  rolled_back.rolled_back = true;
  for (const RoundLine& line : {committed, failed, rolled_back}) {
    run.history.push_back(std::make_shared<const RoundLine>(line));
  }
  board.Publish(run);
  runs.Refresh();
  for (const char* line :
       {"loss{run=\"letters\"} -0.75", "round_seconds{run=\"letters\"} 2.5", "nodes{run=\"letters\"} 3",
        "connected_nodes{run=\"letters\"} 2", "unable_nodes{run=\"letters\"} 1"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("\ntributary_run_") + line));
  }
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("tributary_run_epsilon")));
}

TEST(RunMetricsTest, ShowsNoFiguresWhereNobodyJudges) {
  RunBoard board;
  Metrics metrics;
  RunMetrics runs(board, metrics);
  board.Publish(ViewOf(3, std::nullopt));
  runs.Refresh();
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_run_committed_rounds{run=\"letters\"} 3"));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("linear_probe")));
}

}  // namespace
}  // namespace tributary
