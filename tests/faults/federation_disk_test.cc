// A store on a full disk: nothing is lost, and the operator is told.
#include <gmock/gmock.h>

#include "tests/faults/federation_small_run.h"

namespace tributary::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Room for the database with its log, the models and the updates of a round.
constexpr std::size_t kDiskBytes = std::size_t{4} << 20;

// Two of three updates of a round are in the store when its disk is full.
class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!run_.disk().ready()) GTEST_SKIP() << "no file system of its own: " << run_.disk().log();
    ASSERT_TRUE(WaitFor([this] { return run_.CommittedRounds() >= 3; }));
    ASSERT_TRUE(run_.HoldARound()) << run_.Show();
    run_.disk().Fill();
    committed_ = run_.CommittedRounds();
    for (int round = 0; round <= committed_; ++round) models_.push_back(run_.ModelFile(round));
    run_.GoOn();
    ASSERT_TRUE(WaitFor([this] { return Refused() > 0 || Failed(); })) << run_.Show();
  }

  bool Failed() const { return run_.Show().value("state", "") == "RUN_STATE_FAILED"; }

  double Refused() {
    return MetricValue(run_.aggregator().Metrics(), "tributary_updates_refused_total{reason=\"store\"}");
  }
  // The result equals that of a run that kept every update, each counted once.
  void ExpectTheQuietEnd() {
    EXPECT_EQ(run_.Finish(), QuietResult());
    for (int round = 0; round <= committed_; ++round) {
      EXPECT_FALSE(models_[round].empty());
      EXPECT_EQ(run_.ModelFile(round), models_[round]) << "round " << round;
    }
  }

  SmallRun run_{kDiskBytes};
  int committed_ = 0;
  std::vector<std::string> models_;
};

TEST_F(FullDiskTest, AnUpdateThatDoesNotFitIsSentAgainUntilItDoes) {
  // HoldARound() left no interrupted upload that could free a page: the update does not fit.
  ASSERT_FALSE(Failed()) << run_.Show();
  EXPECT_EQ(run_.Show().value("state", ""), "RUN_STATE_RUNNING");
  EXPECT_EQ(run_.AcceptedInRound(run_.Show()), 2);
  run_.disk().Free();
  ExpectTheQuietEnd();
}

TEST_F(FullDiskTest, ACommitThatDoesNotFitStopsTheRunUntilARestart) {
  // Frees a page per attempt: the first update that fits leaves none for the database or the model.
  double refused = Refused();
  ASSERT_TRUE(WaitFor([&] {
    if (Refused() > refused) {
      run_.disk().FreePage();
      refused = Refused();
    }
    return Failed();
  })) << run_.Show();
  EXPECT_THAT(run_.Show().value("message", ""),
              AnyOf(HasSubstr("No space left on device"), HasSubstr("disk is full")));
  EXPECT_EQ(MetricValue(run_.aggregator().Metrics(), "tributary_store_healthy"), 0);
  EXPECT_EQ(run_.CommittedRounds(), committed_);

  run_.aggregator().process().Signal(SIGTERM);
  EXPECT_EQ(run_.aggregator().process().Wait(std::chrono::seconds(20)), 0)
      << run_.aggregator().process().Log();
  run_.disk().Free();
  run_.StartAggregator();
  ExpectTheQuietEnd();
}

// A database that was closed takes space to be opened: its log and an index of it.
TEST(FullDiskStartTest, AStoreThatWasClosedOpensWithTheSpaceThatItReserved) {
  SmallRun run(kDiskBytes);
  if (!run.disk().ready()) GTEST_SKIP() << "no file system of its own: " << run.disk().log();
  ASSERT_TRUE(WaitFor([&] { return run.CommittedRounds() >= 1; }));
  run.aggregator().process().Signal(SIGTERM);
  ASSERT_EQ(run.aggregator().process().Wait(std::chrono::seconds(20)), 0) << run.aggregator().process().Log();
  run.disk().Fill();
  run.StartAggregator();
  ASSERT_TRUE(WaitFor([&] { return run.Show().value("name", "") == "r"; }))
      << run.aggregator().process().Log();
  EXPECT_EQ(MetricValue(run.aggregator().Metrics(), "tributary_store_healthy"), 1);
}

}  // namespace
}  // namespace tributary::testing
