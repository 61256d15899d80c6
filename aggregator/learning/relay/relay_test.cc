// Trees of aggregators with their services, in one process.
#include "aggregator/learning/relay/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "aggregator/learning/relay/relay_fixture.h"

namespace tributary::learning {
namespace {

using testing::Child;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::RoundsHost;
using testing::TestNode;

class RelayTest : public testing::RelayFixture {};

TEST_F(RelayTest, ATreeGivesWhatTheSameNodesGiveWithoutOneBitForBit) {
  StartRun(parent_, Config(3));
  Child attic(parent_, "attic", 2), hall(parent_, "hall", 2);
  Leaf a(parent_, "ash");
  Leaf b(attic.host(), "birch"), c(attic.host(), "cedar");
  Leaf d(hall.host(), "dogwood"), e(hall.host(), "elm");
  EXPECT_EQ(AllRounds(parent_), Flat({"ash", "birch", "cedar", "dogwood", "elm"}));
  const v1::Round last = parent_.WaitForRound(kRounds);
  EXPECT_EQ(last.sample_count(), 10u * (3 + 5 + 5 + 7 + 3));
  EXPECT_EQ(last.accepted(), 3u);
  EXPECT_DOUBLE_EQ(last.loss(), 0.5);
  // Three updates a round reached the parent, not five.
  EXPECT_EQ(parent_.coordinator().counters().received_bytes, kRounds * 3 * kElements * sizeof(float));
  EXPECT_TRUE(Eventually([&] { return hall.relay().counters().accepted == kRounds; }));
  EXPECT_EQ(hall.relay().counters().contributors, 2 * kRounds);
}

// One node's update weighs forty times another's and the quorum is one: words of 64 bits.
TEST_F(RelayTest, ATreeOfUnequalNodesGivesTheSameBitsToo) {
  const std::string heavy(40, 'h');
  StartRun(parent_, Config(2, "quorum = 1\n"));
  Child hall(parent_, "hall", 2);
  Leaf a(parent_, "a"), b(hall.host(), "birch"), c(hall.host(), heavy);
  EXPECT_EQ(AllRounds(parent_), Flat({"a", "birch", heavy}, "quorum = 1\n"));
  // A value of "a" and a word of the child each round.
  EXPECT_EQ(parent_.coordinator().counters().received_bytes,
            kRounds * kElements * (sizeof(float) + sizeof(std::int64_t)));
}

TEST_F(RelayTest, ASumThatItsContributorsCannotHaveIsRefused) {
  StartRun(parent_, Config(2));
  Leaf a(parent_, "ash");
  link::FederationClientOptions options;
  options.aggregator = "127.0.0.1:" + std::to_string(parent_.port());
  options.node = "liar";
  options.sample_count = 10;
  options.partial_sums = true;
  runtime::SystemClock clock;
  link::FederationClient liar(options, clock);
  const auto assignment = liar.Next();
  ASSERT_TRUE(assignment);
  v1::UpdateHeader said;
  said.set_sample_count(10);
  said.add_contributors()->set_node("nobody");
  said.mutable_contributors(0)->set_sample_count(10);
  const std::vector<std::int64_t> most(kElements, INT32_MAX);
  const auto answer = liar.SubmitSum(*assignment, most, said);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->reason(), v1::SUBMIT_REFUSAL_OUT_OF_RANGE) << answer->message();
}

TEST_F(RelayTest, AChildOfAChildAddsUpTheSame) {
  StartRun(parent_, Config(1, "quorum = 1\n"));
  Child hall(parent_, "hall", 2);
  Child attic(hall.host(), "attic", 2);
  Leaf a(hall.host(), "ash");
  Leaf b(attic.host(), "birch"), c(attic.host(), "cedar");
  EXPECT_EQ(AllRounds(parent_), Flat({"ash", "birch", "cedar"}));
  EXPECT_TRUE(Eventually([&] { return hall.relay().counters().accepted == kRounds; }));
  EXPECT_EQ(hall.relay().counters().contributors, 3 * kRounds);
}

TEST_F(RelayTest, ANodeBelowAChildIsToldWhatItIsToldWithoutOne) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 1);
  TestNode below(hall.host(), "a", 7, "");
  const v1::TrainTask task = below.NextTrain();
  EXPECT_EQ(task.round(), 1u);
  EXPECT_EQ(task.max_sample_count(), 7u);
  EXPECT_EQ(task.settings().local_steps(), 3u);
  EXPECT_EQ(task.settings().schedule_steps(), 3u * kRounds);
  EXPECT_FLOAT_EQ(task.max_element(), 8);
}

TEST_F(RelayTest, SharesItsSettingsExactly) {
  wire::TrainTask task;
  task.run = "r";
  task.fixed_point = {3, 0.1f};
  v1::ClientSettings& settings = *task.train.mutable_settings();
  settings = DefaultClientSettings();
  settings.set_method("byol");
  settings.set_augmentation("table");
  settings.set_local_steps(7);
  settings.set_batch(33);
  settings.set_learning_rate(0.1 + 0.2);
  settings.set_momentum(1.0 / 3);
  settings.set_weight_decay(1e-300);
  settings.set_proximal_mu(5e-324);
  settings.set_ema_lambda(1e9);
  settings.set_target_decay(1);
  settings.set_schedule_steps(70);
  settings.set_seed(INT64_MAX);
  settings.set_encoding(v1::UPDATE_ENCODING_INT12);
  const auto config = RelayedConfig(task);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(Validate(*config).ok()) << Validate(*config);
  EXPECT_EQ(config->rounds, 10u);
  EXPECT_EQ(static_cast<float>(config->max_element), 0.1f);
  EXPECT_EQ(config->client.SerializeAsString(), settings.SerializeAsString());
  // A restart reads the same out of the store.
  const auto stored = ParseRunConfig("name = \"r\"\nrounds = 10\n" + ClientSectionOf(config->client), "r",
                                     ClientLimits::kStored);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->client.SerializeAsString(), settings.SerializeAsString());
  task.run = "x\"\nrounds = 1";
  EXPECT_FALSE(Validate(*RelayedConfig(task)).ok());
  task.run = "r";
  settings.set_schedule_steps(71);
  EXPECT_FALSE(RelayedConfig(task).ok());
  settings.set_schedule_steps(7 * (std::uint64_t{1} << 32));
  EXPECT_FALSE(RelayedConfig(task).ok());
  settings.set_schedule_steps(70);
  settings.set_clip_norm(1);
  EXPECT_FALSE(RelayedConfig(task).ok());
}

TEST_F(RelayTest, ARestartInMidRoundLosesNoUpdate) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 2);
  TestNode a(hall.host(), "a", 1, ""), b(hall.host(), "b", 3, "");
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {4, 0, 0}).accepted());
  b.NextTrain();
  hall.Restart();
  TestNode a2(hall.host(), "a", 1, ""), b2(hall.host(), "b", 3, "");
  const v1::TrainTask task = b2.NextTrain();
  EXPECT_EQ(task.round(), 1u);
  EXPECT_TRUE(b2.Submit(InRun(b2.Header(task)), {0, 4, -4}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 4u);
  // 0, 1, 2 and the mean 1, 3, −3: exact in binary.
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(1, 4, -1));
}

TEST_F(RelayTest, ASumThatWasReadyBeforeARestartIsSentAfterIt) {
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 1);
  TestNode slow(parent_, "slow", 1);
  {
    TestNode a(hall.host(), "a", 3, "");
    const v1::TrainTask task = a.NextTrain();
    parent_.Stop();
    EXPECT_TRUE(a.Submit(InRun(a.Header(task)), {4, 0, 0}).accepted());
  }
  parent_.Start();
  hall.Restart();  // to the parent's new address
  TestNode again(parent_, "slow", 1);
  EXPECT_TRUE(again.Submit(again.NextTrain(), {0, 0, 0}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).accepted(), 2u);
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(3, 1, 2));
}

TEST_F(RelayTest, ANodeThatDropsOutBelowAChildIsLeftOutOfTheSum) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 2);
  TestNode a(hall.host(), "a", 1, ""), b(hall.host(), "b", 3, "");
  const v1::TrainTask task = b.NextTrain();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(b.Submit(InRun(b.Header(task)), {nan, 0, 0}).reason(), v1::SUBMIT_REFUSAL_NOT_FINITE);
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {4, 0, 0}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 1u);
  EXPECT_THAT(parent_.Parameters(1), ElementsAre(4, 1, 2));
}

TEST_F(RelayTest, ANodeThatSaysNothingDoesNotCostTheOthersTheParentsDeadline) {
  StartRun(parent_, "name = \"r\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\ndeadline_s = 2\n", 3);
  Child hall(parent_, "hall", 2);
  TestNode a(hall.host(), "a", 1, ""), b(hall.host(), "b", 3, "");
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {4, 0, 0}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).sample_count(), 1u);
  EXPECT_EQ(parent_.Run().run().state(), v1::RUN_STATE_FINISHED);
}

TEST_F(RelayTest, TakesPartWithAClockThatIsSetWrong) {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 1, kHourNs), attic(parent_, "attic", 1, -kHourNs);
  TestNode a(hall.host(), "a", 1, ""), b(attic.host(), "b", 1, "");
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {2, 0, 0}).accepted());
  EXPECT_TRUE(b.Submit(InRun(b.Header(b.NextTrain())), {4, 0, 4}).accepted());
  EXPECT_EQ(parent_.WaitForRound(1).accepted(), 2u);
  EXPECT_EQ(hall.relay().counters().abandoned, 0u);
}

TEST_F(RelayTest, DeclaresACrowdOfNodesInFewStreams) {
  StartRun(parent_, Config(2), 3);
  Child hall(parent_, "hall", 1);
  EXPECT_TRUE(Eventually([&] { return hall.relay().client().state() == v1::PARENT_STATE_PARTICIPATING; }));
  const auto streams = [&] { return hall.relay().client().counters().streams; };
  const std::uint64_t before = streams();
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::uint64_t kNodes = 50;
  std::vector<std::unique_ptr<TestNode>> crowd;
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    crowd.push_back(std::make_unique<TestNode>(hall.host(), "n" + std::to_string(i), 1, ""));
    EXPECT_TRUE(crowd.back()->Next().has_wait());  // the child knows it
  }
  EXPECT_TRUE(Eventually([&] { return parent_.Run().participants(0).sample_count() == kNodes; }));
  const auto rests = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(250);
  EXPECT_LE(streams() - before, static_cast<std::uint64_t>(rests) + 1);
}

TEST_F(RelayTest, ARunThatTakesNoPartialSumsSaysSoAtTheDoor) {
  StartRun(parent_, Config(1, "quorum = 1\nclip_norm = 1.0\n"), 3);
  Child hall(parent_, "hall", 1);
  TestNode below(hall.host(), "a", 1, "");
  EXPECT_EQ(below.Next().wait().reason(), "the parent has not asked for a round");
  EXPECT_TRUE(Eventually([&] { return hall.relay().client().state() == v1::PARENT_STATE_REFUSED; }));
  EXPECT_THAT(std::string(hall.relay().client().last_error().message()),
              HasSubstr("takes no partial sums: it scales single updates down"));
  EXPECT_EQ(hall.relay().counters().rounds, 0u);
}

TEST_F(RelayTest, TakesPartOnlyWithEnoughNodesOfItsOwn) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 2);
  TestNode a(hall.host(), "a", 5, "");
  TestNode watcher(hall.host(), "spare", 0, "");  // has no samples: does not count
  EXPECT_TRUE(Eventually([&] { return parent_.Run().participants_size() == 1; }));
  EXPECT_EQ(parent_.Run().participants(0).sample_count(), 0u);
  TestNode b(hall.host(), "b", 6, "");
  EXPECT_EQ(a.NextTrain().round(), 1u);
  EXPECT_EQ(parent_.Run().participants(0).sample_count(), 11u);
}

TEST_F(RelayTest, ANodeMayAskForTheParentsRunByNameBeforeItIsHere) {
  Child hall(parent_, "hall", 1);
  TestNode a(hall.host(), "a", 1, "r");
  EXPECT_TRUE(a.Next().has_wait());
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  EXPECT_EQ(a.NextTrain().round(), 1u);
}

TEST_F(RelayTest, ShowsTheRunAndLeavesItToTheParentToChangeIt) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 1);
  TestNode a(hall.host(), "a", 1, "");
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {4, 0, 0}).accepted());
  EXPECT_EQ(hall.host().WaitForRound(1).accepted(), 1u);
  const v1::Run run = hall.host().Run().run();
  EXPECT_EQ(run.strategy(), "relayed");
  EXPECT_EQ(run.rounds(), kRounds);
  EXPECT_EQ(run.committed_rounds(), 1u);
  const auto stub = v1::RunService::NewStub(hall.host().channel());
  grpc::ClientContext context;
  v1::PauseRunRequest request;
  request.set_run("r");
  v1::PauseRunResponse response;
  const grpc::Status status = stub->PauseRun(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "run \"r\" is the parent's: it is changed there");
}

// The answer with which the run ends for a node.
v1::EndedTask EndFor(TestNode& node) {
  for (;;) {
    const v1::ParticipateResponse task = node.Next();
    if (task.has_ended() || task.run().empty()) return task.ended();
  }
}

TEST_F(RelayTest, TellsItsNodesThatTheParentsRunHasFinished) {
  StartRun(parent_, "name = \"r\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\n", 3);
  Child hall(parent_, "hall", 1);
  TestNode a(hall.host(), "a", 1, "");
  EXPECT_TRUE(a.Submit(InRun(a.Header(a.NextTrain())), {4, 0, 0}).accepted());
  const v1::EndedTask end = EndFor(a);
  EXPECT_EQ(end.reason(), "all rounds are done");
  EXPECT_TRUE(end.finished());
  EXPECT_EQ(hall.host().Run().run().state(), v1::RUN_STATE_FINISHED);
  EXPECT_EQ(hall.host().Run().run().message(), "the parent's run has ended: all rounds are done");
  hall.Restart();
  EXPECT_EQ(hall.host().Run().run().state(), v1::RUN_STATE_FINISHED);
}

TEST_F(RelayTest, TellsItsNodesThatTheParentsRunWasStopped) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  Child hall(parent_, "hall", 1);
  TestNode a(hall.host(), "a", 1, "");
  a.NextTrain();
  grpc::ClientContext context;
  v1::StopRunRequest request;
  request.set_run("r");
  v1::StopRunResponse response;
  ASSERT_TRUE(v1::RunService::NewStub(parent_.channel())->StopRun(&context, request, &response).ok());
  const v1::EndedTask end = EndFor(a);
  EXPECT_EQ(end.reason(), "the run was stopped");
  EXPECT_FALSE(end.finished());
  EXPECT_EQ(hall.host().Run().run().state(), v1::RUN_STATE_STOPPED);
  hall.Restart();
  EXPECT_EQ(hall.host().Run().run().state(), v1::RUN_STATE_STOPPED);
}

TEST_F(RelayTest, TakesNoOtherModelThanTheParentAnnounced) {
  RoundsHost child;
  child.Start();
  absl::Status said;
  const auto tell = [&](const absl::StatusOr<PartialSum>& sum) { said = sum.status(); };
  BeginRelayed(child.coordinator(), *ParseRunConfig(Config(1), "r", ClientLimits::kStored),
               {1, parameters::Sha256{std::byte{1}}, {}, 1, 0}, RoundsHost::ModelFile(3), tell);
  child.Stop();
  EXPECT_EQ(said.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(said.message()), HasSubstr("not the one that it announced"));
}

TEST_F(RelayTest, LeavesARunOfItsOwnUnderThatNameAlone) {
  StartRun(parent_, Config(1, "quorum = 1\n"), 3);
  RoundsHost child;
  child.Start();
  StartRun(child, Config(2), 4);
  bool told = false;
  BeginRelayed(child.coordinator(), *ParseRunConfig(Config(1), "r", ClientLimits::kStored), {1, {}, {}, 1, 0},
               RoundsHost::ModelFile(3), [&](const absl::StatusOr<PartialSum>& sum) {
                 EXPECT_EQ(sum.status().code(), absl::StatusCode::kAlreadyExists);
                 told = true;
               });
  OnRelayed(child.coordinator(), "r", [](RelayedRun& run) { run.End({}); });
  child.Stop();
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace tributary::learning
