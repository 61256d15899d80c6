// What many peers at once, slow ones and long histories may cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/rounds_fixture.h"
#include "aggregator/store/database.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::SilentSink;
using testing::SlowNode;
using testing::TestNode;

constexpr const char* kOneNode = "name = \"r\"\nrounds = 2\nmin_nodes = 1\nquorum = 1\n";

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() { host_.Start(); }

  void StartRun(const std::string& config, std::size_t elements = 3) {
    const grpc::Status status = host_.StartRun(config, RoundsHost::ModelFile(elements));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  // Whether the node's update was admitted to the round.
  bool IsUnderWay(const std::string& node) {
    std::promise<bool> answer;
    host_.coordinator().Post([&](HostedRuns& runs, Attendance&) {
      answer.set_value(runs.Find("r")->state().under_way()->updates().Reserved(node));
    });
    return answer.get_future().get();
  }

  RoundsHost host_;
};

// Who sends a little now and then would otherwise hold a place for uploads for ever.
TEST_F(LimitsTest, TakesNothingMoreOfAnUploadWhoseRoundIsOver) {
  constexpr std::size_t kSlice = 1 << 18;  // a chunk of 1 MiB
  StartRun("name = \"r\"\nrounds = 1\nmin_nodes = 17\nquorum = 17\nmax_nodes = 18\n", 3 * kSlice);
  TestNode good(host_, "good");
  std::deque<SlowNode> slow;
  // At least as many as fit at once.
  constexpr std::size_t kFit = kUploadBytes / (std::size_t{2} << 20);
  for (std::size_t i = 0; i < kFit; ++i) slow.emplace_back(host_, "slow " + std::to_string(i));
  for (SlowNode& each : slow) EXPECT_TRUE(each.Begin(std::vector<float>(3 * kSlice), kSlice));
  while (!IsUnderWay("slow 0")) std::this_thread::yield();
  // Without this node's update the quorum is out of reach.
  v1::DeclineTaskRequest decline;
  decline.set_node("good");
  decline.set_boot_id(std::string(16, 'b'));
  decline.set_round(good.NextTrain().round());
  decline.set_reason(v1::DECLINE_REASON_TRAINING);
  host_.coordinator().Change(
      "r", [decline](learning::Run& run) { return run.Decline(decline).status(); },
      [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  EXPECT_NE(host_.WaitForRound(1).failure(), "");
  for (SlowNode& each : slow) {
    each.SendNext();  // and no end: the answer comes all the same
    const v1::SubmitUpdateResponse& answer = each.Answer();
    EXPECT_EQ(answer.reason(), v1::SUBMIT_REFUSAL_STALE) << answer.message();
  }
  EXPECT_TRUE(good.Submit(good.NextTrain(), std::vector<float>(3 * kSlice)).accepted());
}

// Who opens a model and reads nothing of it holds a place, for which others wait. Operators have half of
// them.
TEST_F(LimitsTest, OpensSoManyModelsAtOnceAndTheNextInTurn) {
  StartRun(kOneNode);
  const auto open = [this] {
    auto opened = std::make_shared<std::promise<absl::StatusOr<OpenModel>>>();
    host_.coordinator().OpenModelAfter(
        "r", 0, [opened](absl::StatusOr<OpenModel> model) { opened->set_value(std::move(model)); });
    return opened->get_future();
  };
  std::vector<absl::StatusOr<OpenModel>> idle;
  for (std::size_t i = 0; i < kOpenModels / 2; ++i) idle.push_back(open().get());
  auto waiting = open();
  // What was asked for later is answered first.
  std::promise<void> later;
  host_.coordinator().Change("r", &Run::Pause, [&](const absl::Status&) { later.set_value(); });
  later.get_future().wait();
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  idle.pop_back();
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(LimitsTest, LetsNoMoreNodesWaitForARunThanARunMayHave) {
  std::vector<std::shared_ptr<SilentSink>> crowd;
  for (std::size_t i = 0; i < Attendance::kMaxNodes + 3; ++i) {
    v1::ParticipateRequest declaration;
    declaration.set_node("n" + std::to_string(i));
    declaration.set_sample_count(1);
    crowd.push_back(std::make_shared<SilentSink>());
    host_.coordinator().Join(declaration, crowd.back());
  }
  TestNode late(host_, "late", 1, "");
  EXPECT_EQ(late.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(host_.coordinator().counters().refused_streams, 4u);
  EXPECT_FALSE(crowd.front()->ended.has_value());
  EXPECT_EQ(crowd.back()->ended->code(), absl::StatusCode::kResourceExhausted);
}

// What a node declares is kept for as long as it is known.
TEST(DeclarationTest, ListsNoMoreThanThereCanBeAndNothingEndless) {
  const auto refused = [](const v1::ParticipateRequest& declaration) {
    v1::ParticipateRequest checked = declaration;
    return CheckMessage(checked).code() == absl::StatusCode::kInvalidArgument;
  };
  v1::ParticipateRequest good;
  good.set_node("a");
  good.set_boot_id(std::string(16, 'b'));
  good.add_workloads("self_supervised");
  for (int i = 0; i < 64; ++i) good.add_encodings(v1::UPDATE_ENCODING_INT8);
  EXPECT_FALSE(refused(good));
  for (const std::string& workload : {std::string(), std::string(129, 'w'), std::string("\x1b[2J")}) {
    v1::ParticipateRequest bad = good;
    bad.add_workloads(workload);
    EXPECT_TRUE(refused(bad));
    bad = good;
    bad.set_run(workload);
    EXPECT_EQ(refused(bad), !workload.empty());
  }
  v1::ParticipateRequest many = good;
  for (int i = 0; i < 64; ++i) many.add_workloads("another");
  EXPECT_TRUE(refused(many));
  many = good;
  for (int i = 0; i < 20; ++i) many.add_workloads(std::string(128, 'w'));
  EXPECT_TRUE(refused(many)) << "long ones";
  many = good;
  many.add_encodings(v1::UPDATE_ENCODING_INT8);
  EXPECT_TRUE(refused(many));
}

template <class Message>
void ExpectNothingUnknownIsKept() {
  Message message;
  message.set_node("a");
  message.set_boot_id(std::string(16, 'b'));
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(999, 1);
  ASSERT_TRUE(CheckMessage(message).ok());
  EXPECT_TRUE(message.GetReflection()->GetUnknownFields(message).empty());
}

TEST(DeclarationTest, KeepsNothingUnknown) {
  ExpectNothingUnknownIsKept<v1::ParticipateRequest>();
  ExpectNothingUnknownIsKept<v1::DeclineTaskRequest>();
}

class WaitingTest : public LimitsTest {
 protected:
  std::shared_ptr<SilentSink> Join(const std::string& run, const std::string& node, std::uint64_t samples) {
    v1::ParticipateRequest declaration;
    declaration.set_node(node);
    declaration.set_sample_count(samples);
    declaration.set_run(run);
    auto sink = std::make_shared<SilentSink>();
    host_.coordinator().Join(declaration, sink);
    return sink;
  }
  // "node: samples", once the coordinator has done what was asked of it before.
  std::vector<std::string> Waiting() {
    std::promise<void> done;
    host_.coordinator().Change("nosuch", &Run::Pause, [&](const absl::Status&) { done.set_value(); });
    done.get_future().wait();
    std::vector<std::string> nodes;
    for (const v1::ParticipateRequest& each : host_.coordinator().Waiting()) {
      nodes.push_back(each.node() + ": " + std::to_string(each.sample_count()));
    }
    return nodes;
  }
};

TEST_F(WaitingTest, ANodeWaitsUntilItLeaves) {
  const auto first = Join("", "a", 7);
  const auto second = Join("", "b", 0);
  EXPECT_THAT(Waiting(), ::testing::UnorderedElementsAre("a: 7", "b: 0"));
  EXPECT_EQ(host_.coordinator().counters().waiting, 2u);
  host_.coordinator().Leave(first);
  EXPECT_THAT(Waiting(), ::testing::ElementsAre("b: 0"));
}

TEST_F(WaitingTest, ANodeThatCameTwiceWaitsWithItsNewerStream) {
  const auto older = Join("", "a", 1);
  const auto newer = Join("", "a", 2);
  EXPECT_THAT(Waiting(), ::testing::ElementsAre("a: 2"));
  EXPECT_EQ(older->ended->code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(newer->ended.has_value());
}

// One stream asks for the run by its name, the other one for any; only one of them can take part.
TEST_F(WaitingTest, OfTwoStreamsOfANodeThatWaitForTheSameRunOneIsLeft) {
  host_.coordinator().Post(
      [](HostedRuns&, Attendance& nodes) { nodes.AwaitParent([](const RosterSize&) {}); });
  const auto named = Join("r", "a", 1);
  const auto unnamed = Join("", "a", 1);
  EXPECT_THAT(Waiting(), ::testing::SizeIs(2));
  StartRun(kOneNode);
  EXPECT_THAT(Waiting(), ::testing::IsEmpty());
  EXPECT_NE(named->ended.has_value(), unnamed->ended.has_value());
}

TEST_F(LimitsTest, ShowsAHistoryThatIsLongerThanAMessage) {
  StartRun(kOneNode);
  TestNode a(host_, "a");
  EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
  const std::size_t line_bytes = host_.WaitForRound(1).ByteSizeLong();
  host_.Stop();
  std::size_t lines = 1;
  {
    auto database = store::Database::Open(host_.store() + "/tributary.db");
    ASSERT_TRUE(database.ok()) << database.status();
    for (; lines * line_bytes < 6 << 20; lines *= 2) {
      const absl::Status twice = database->Execute(
          "INSERT INTO history (run, revision, round, committed, evaluated, document) "
          "SELECT run, revision + (SELECT max(revision) FROM history), round, 0, 0, document FROM history");
      ASSERT_TRUE(twice.ok()) << twice;
    }
  }
  host_.Start();
  const int shown = host_.Run().history_size();
  EXPECT_GT(shown, 0);
  EXPECT_LT(static_cast<std::size_t>(shown), lines);
  host_.coordinator().Change("r", &Run::Stop, [](const absl::Status&) {});
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run("r");
  const auto stub = v1::RunService::NewStub(host_.channel());
  const auto reader = stub->WatchRun(&context, request);
  v1::WatchRunResponse response;
  std::size_t watched = 0;
  while (reader->Read(&response)) watched += static_cast<std::size_t>(response.rounds_size());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(watched, lines + 1);  // round 2 was given up
}

TEST_F(LimitsTest, IsNotHealthyWhileTheStoreTakesNoUpdates) {
  StartRun(kOneNode);
  TestNode a(host_, "a");
  const v1::TrainTask task = a.NextTrain();
  EXPECT_TRUE(host_.coordinator().counters().healthy);
  const std::string folder = host_.store() + "/submissions";
  std::filesystem::rename(folder, folder + ".away");
  const v1::SubmitUpdateResponse refused = a.Submit(task, {1, 1, 1});
  EXPECT_EQ(refused.reason(), v1::SUBMIT_REFUSAL_STORE);
  EXPECT_TRUE(refused.try_again());
  EXPECT_FALSE(host_.coordinator().counters().healthy);
  std::filesystem::rename(folder + ".away", folder);
  EXPECT_TRUE(a.Submit(task, {1, 1, 1}).accepted());
  EXPECT_TRUE(host_.coordinator().counters().healthy);
}

}  // namespace
}  // namespace tributary::learning
