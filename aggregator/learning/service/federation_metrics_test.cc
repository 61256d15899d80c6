#include "aggregator/learning/service/federation_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunRecord RecordOf(std::uint32_t round) {
  RunRecord record;
  record.run.set_name("letters");
  record.run.set_committed_rounds(round);
  v1::Round line;
  line.set_round(round);
  record.last_committed = std::make_shared<const v1::Round>(line);
  return record;
}

TEST(RunMetricsTest, ShowsTheLatestFiguresBesideTheRandomEncoders) {
  RunBoard board(nullptr, 8);
  runtime::Metrics metrics;
  // A later round that is not judged hides nothing.
  RunRecord record = RecordOf(11);
  v1::Round evaluated;
  v1::Evaluation& evaluation = *evaluated.mutable_evaluation();
  evaluation.set_linear_probe(0.875);
  evaluation.set_knn(0.75);
  evaluation.set_spread(0.5);
  evaluation.set_random_linear_probe(0.625);
  evaluation.set_random_knn(0.375);
  evaluation.set_random_spread(0.25);
  record.last_evaluated = std::make_shared<const v1::Round>(evaluated);
  board.Publish(record);
  metrics.AddCollector([&board](runtime::Reading& reading) { CollectRuns(board, reading); });
  for (const char* line : {"linear_probe{run=\"letters\"} 0.875", "knn{run=\"letters\"} 0.75",
                           "test_spread{run=\"letters\"} 0.5", "random_linear_probe{run=\"letters\"} 0.625",
                           "random_knn{run=\"letters\"} 0.375", "random_test_spread{run=\"letters\"} 0.25"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("\ntributary_run_") + line));
  }
}

TEST(RunMetricsTest, ShowsTheLossOfTheLastCommittedRound) {
  RunBoard board(nullptr, 8);
  runtime::Metrics metrics;
  RunRecord record = RecordOf(1);
  record.run.set_joined_nodes(3);
  record.run.set_connected_nodes(2);
  record.run.set_unable_nodes(1);
  v1::Round committed;
  committed.set_started_unix_ns(1'000'000'000);
  committed.set_ended_unix_ns(3'500'000'000);
  committed.set_loss(-0.75);
  record.last_committed = std::make_shared<const v1::Round>(committed);
  board.Publish(record);
  metrics.AddCollector([&board](runtime::Reading& reading) { CollectRuns(board, reading); });
  for (const char* line :
       {"loss{run=\"letters\"} -0.75", "round_seconds{run=\"letters\"} 2.5", "nodes{run=\"letters\"} 3",
        "connected_nodes{run=\"letters\"} 2", "unable_nodes{run=\"letters\"} 1"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("\ntributary_run_") + line));
  }
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("tributary_run_epsilon")));
}

TEST(RunMetricsTest, ShowsFailedRoundsAndTheDeadlineOfTheRoundUnderWay) {
  RunBoard board(nullptr, 8);
  runtime::Metrics metrics;
  RunRecord record = RecordOf(1);
  record.failed_rounds = 2;
  record.run.set_rounds(9);
  record.run.set_deadline_unix_ns(1'500'000'000);
  board.Publish(record);
  metrics.AddCollector([&board](runtime::Reading& reading) { CollectRuns(board, reading); });
  for (const char* line : {"failed_rounds_total{run=\"letters\"} 2", "rounds{run=\"letters\"} 9",
                           "round_deadline_timestamp_seconds{run=\"letters\"} 1.5"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("\ntributary_run_") + line));
  }
}

TEST(RunMetricsTest, ShowsNoFiguresWhereNobodyJudges) {
  RunBoard board(nullptr, 8);
  runtime::Metrics metrics;
  board.Publish(RecordOf(3));
  metrics.AddCollector([&board](runtime::Reading& reading) { CollectRuns(board, reading); });
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_run_committed_rounds{run=\"letters\"} 3"));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("linear_probe")));
}

}  // namespace
}  // namespace tributary::learning
