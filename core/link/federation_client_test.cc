#include "core/link/federation_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <thread>

#include "core/link/federation_server_fixture.h"
#include "core/parameters/update_encoding.h"
#include "core/wire/federation_task.h"

namespace tributary::link {
namespace {

using ::testing::ElementsAre;
using testing::FakeFederation;
using ::testing::HasSubstr;
using testing::TrainResponse;

class FederationClientTest : public ::testing::Test {
 protected:
  FederationClientTest() {
    server_.model = std::string(3'500, 'x');
    server_.answer.set_accepted(true);
    std::iota(update_.begin(), update_.end(), -3.0f);
  }

  void Connect() {
    FederationClientOptions options;
    options.aggregator = server_.address();
    options.node = "south";
    options.run = "run";
    options.sample_count = 70;
    client_.emplace(std::move(options), clock_);
  }

  FederationClient::Assignment Assigned(std::uint32_t round = 1) {
    server_.Push(TrainResponse(round, update_.size(), server_.model.size()));
    if (!client_) Connect();
    auto assignment = client_->Next();
    EXPECT_TRUE(assignment.has_value());
    return assignment.value_or(FederationClient::Assignment());
  }

  absl::StatusOr<SubmitAnswer> Submit(const FederationClient::Assignment& assignment) {
    return client_->Submit(assignment, update_, remainder_, {});
  }

  runtime::SystemClock clock_;
  FakeFederation server_;
  std::vector<float> update_ = std::vector<float>(600'000);
  std::vector<float> remainder_ = std::vector<float>(600'000);
  std::optional<FederationClient> client_;
};

TEST_F(FederationClientTest, SaysWhoItIsAndReadsItsTask) {
  const auto assignment = Assigned(7);
  EXPECT_EQ(assignment.task.run, "run");
  EXPECT_EQ(assignment.task.round, 7u);
  EXPECT_EQ(assignment.task.train.settings().local_steps(), 2u);
  EXPECT_EQ(client_->state(), v1::PARENT_STATE_PARTICIPATING);
  ASSERT_EQ(server_.participations.size(), 1u);
  EXPECT_EQ(server_.participations[0].node(), "south");
  EXPECT_EQ(server_.participations[0].sample_count(), 70u);
}

TEST_F(FederationClientTest, FetchesTheModelFromWhereItBrokeOff) {
  const auto assignment = Assigned();
  server_.break_fetches = 2;
  const auto file = client_->FetchModel(assignment);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, server_.model);
  EXPECT_THAT(server_.fetch_offsets, ElementsAre(0, 1000, 2000));
}

TEST_F(FederationClientTest, TakesNoModelThatIsDamagedOrOfAnotherSize) {
  const auto assignment = Assigned();
  server_.damage_chunks = true;
  EXPECT_EQ(client_->FetchModel(assignment).status().code(), absl::StatusCode::kDataLoss);
  server_.damage_chunks = false;
  server_.model.resize(3'000);
  EXPECT_THAT(std::string(client_->FetchModel(assignment).status().message()),
              HasSubstr("ends after 3000 of 3500"));
  server_.model.resize(4'000);
  EXPECT_EQ(client_->FetchModel(assignment).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FederationClientTest, SendsAnUpdateInChunksOfAtMostOneMebibyte) {
  const auto assignment = Assigned(3);
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted());
  ASSERT_EQ(server_.submissions.size(), 1u);
  const auto& requests = server_.submissions[0];
  EXPECT_EQ(requests[0].header().round(), 3u);
  EXPECT_EQ(requests[0].header().sample_count(), 70u);
  EXPECT_EQ(requests[0].header().element_count(), update_.size());
  EXPECT_EQ(requests[0].header().base_model_sha256(), std::string(32, 'm'));
  parameters::UpdateDecoder decoder(parameters::UpdateEncoding::kFloat32, update_.size());
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const v1::UpdateChunk& chunk = requests[i].chunk();
    EXPECT_LE(chunk.payload().size(), parameters::kMaxChunkBytes);
    EXPECT_EQ(chunk.crc32c(), parameters::Crc32c(chunk.payload()));
    const auto values = decoder.Decode(chunk.offset(), chunk.count(), chunk.payload());
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ(values->front(), update_[chunk.offset()]);
  }
  EXPECT_TRUE(decoder.complete());
}

TEST_F(FederationClientTest, SendsTheSameUpdateAgainAfterABrokenConnection) {
  const auto assignment = Assigned();
  server_.break_submissions = 2;
  server_.try_again_answers = 1;
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted());
  ASSERT_EQ(server_.submissions.size(), 4u);
  for (const auto& again : server_.submissions) {
    ASSERT_EQ(again.size(), server_.submissions[0].size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].SerializeAsString(), server_.submissions[0][i].SerializeAsString());
    }
  }
  EXPECT_EQ(client_->counters().repeated_submissions, 3u);
}

TEST_F(FederationClientTest, SurvivesAnAnswerThatCannotBeRead) {
  const auto assignment = Assigned();
  server_.answer.set_message("\xff");  // not UTF-8, as every text of a message must be
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FederationClientTest, GivesUpAStreamWithATaskThatCannotBeRead) {
  v1::ParticipateResponse response = TrainResponse(1, update_.size(), server_.model.size());
  response.set_run("\xff");  // not UTF-8
  server_.Push(response);
  Connect();
  const std::int64_t limit_ns = clock_.SteadyNs() + 20'000'000'000;
  while (client_->last_error().ok() && clock_.SteadyNs() < limit_ns) std::this_thread::yield();
  EXPECT_EQ(client_->last_error().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FederationClientTest, SendsWordsWithThoseWhoseTheyAre) {
  const auto assignment = Assigned(3);
  std::vector<std::int64_t> words(update_.size());
  std::iota(words.begin(), words.end(), -7);
  server_.break_submissions = 1;
  v1::UpdateHeader said;
  said.set_sample_count(110);
  said.mutable_metrics()->set_loss(0.5);
  for (const auto& [node, samples] : {std::pair("a", 60), std::pair("b", 50)}) {
    v1::Contributor& contributor = *said.add_contributors();
    contributor.set_node(node);
    contributor.set_sample_count(static_cast<std::uint64_t>(samples));
  }
  const auto answer = client_->SubmitSum(assignment, words, said);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted());
  ASSERT_EQ(server_.submissions.size(), 2u);
  const auto& requests = server_.submissions[1];
  const v1::UpdateHeader& header = requests[0].header();
  EXPECT_EQ(header.encoding(), v1::UPDATE_ENCODING_FIXED32);
  EXPECT_EQ(header.element_count(), words.size());
  EXPECT_EQ(header.sample_count(), 110u);
  ASSERT_EQ(header.contributors_size(), 2);
  EXPECT_EQ(header.contributors(1).node(), "b");
  EXPECT_EQ(header.contributors(1).sample_count(), 50u);
  EXPECT_EQ(header.metrics().loss(), 0.5);
  parameters::UpdateDecoder decoder(parameters::UpdateEncoding::kFixed32, words.size());
  std::vector<std::int64_t> received;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const v1::UpdateChunk& chunk = requests[i].chunk();
    EXPECT_EQ(chunk.crc32c(), parameters::Crc32c(chunk.payload()));
    const auto values = decoder.DecodeFixed(chunk.offset(), chunk.count(), chunk.payload());
    ASSERT_TRUE(values.ok()) << values.status();
    received.insert(received.end(), values->begin(), values->end());
  }
  EXPECT_EQ(received, words);
}

// The aggregator continues as soon as it has the update: the next task may overtake the answer.
TEST_F(FederationClientTest, HearsThatItsUpdateCountedAlsoIfTheNextTaskComesFirst) {
  update_.resize(1000);
  remainder_.resize(1000);
  const auto assignment = Assigned(1);
  server_.hold_answers = true;
  std::jthread later([&] {
    while (server_.received() == 0) std::this_thread::yield();
    server_.Push(TrainResponse(2, update_.size(), server_.model.size()));
    while (!assignment.withdrawn.stop_requested()) std::this_thread::yield();
    server_.Answer();
  });
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted());
}

TEST_F(FederationClientTest, StopWaitsForNoAnswer) {
  update_.resize(1000);
  remainder_.resize(1000);
  const auto assignment = Assigned(1);
  server_.hold_answers = true;
  std::jthread stopper([this] {
    while (server_.received() == 0) std::this_thread::yield();
    client_->Stop();
  });
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FederationClientTest, DeclaresAnotherSampleCountWithoutLosingItsTask) {
  const auto assignment = Assigned();
  client_->SetSampleCount(70);  // as declared: nothing to say
  client_->SetSampleCount(90);
  while (client_->counters().streams < 2) std::this_thread::yield();
  EXPECT_EQ(server_.participations.back().sample_count(), 90u);
  EXPECT_EQ(server_.participations.size(), 2u);
  EXPECT_FALSE(assignment.withdrawn.stop_requested());
  EXPECT_TRUE(client_->last_error().ok());
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(server_.submissions[0][0].header().sample_count(), 90u);
}

TEST_F(FederationClientTest, HandsBackARefusalWithItsReason) {
  const auto assignment = Assigned();
  server_.answer.set_accepted(false);
  server_.answer.set_reason(v1::SUBMIT_REFUSAL_BASE_MODEL);
  server_.answer.set_message("another model");
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->accepted());
  EXPECT_EQ(answer->reason(), v1::SUBMIT_REFUSAL_BASE_MODEL);
  EXPECT_EQ(answer->message(), "another model");
  EXPECT_EQ(server_.submissions.size(), 1u);
}

TEST_F(FederationClientTest, NeverSendsValuesThatAreNotFinite) {
  const auto assignment = Assigned();
  update_[500'000] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FederationClientTest, GivesUpASubmissionOnceAnotherRoundIsAskedFor) {
  const auto assignment = Assigned(1);
  server_.hold_submissions = true;
  std::jthread later([this] {
    while (server_.submission_count() == 0) std::this_thread::yield();
    server_.Push(TrainResponse(2, update_.size(), server_.model.size()));
  });
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(assignment.withdrawn.stop_requested());
  client_->Finish(assignment);
  const auto next = client_->Next();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->task.round, 2u);
}

TEST_F(FederationClientTest, KeepsItsTaskThroughALostStream) {
  const auto assignment = Assigned();
  server_.EndStreams();
  while (client_->counters().streams < 2) std::this_thread::yield();
  EXPECT_FALSE(assignment.withdrawn.stop_requested());
  const auto answer = Submit(assignment);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted());
}

TEST_F(FederationClientTest, DoesATaskAgainOnlyIfItIsAskedForAgain) {
  const auto assignment = Assigned();
  client_->Finish(assignment);
  server_.EndStreams();  // the next stream asks again
  const auto again = client_->Next();
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->task.SameWork(assignment.task));
}

TEST_F(FederationClientTest, StopEndsWhatIsUnderWay) {
  const auto assignment = Assigned();
  server_.hold_submissions = true;
  std::jthread stopper([this] {
    while (server_.submission_count() == 0) std::this_thread::yield();
    client_->Stop();
  });
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(client_->Next().has_value());
}

TEST_F(FederationClientTest, DeclinesATaskBeyondItsLimitsForGood) {
  v1::ParticipateResponse task = TrainResponse(7, 10, 10);
  task.mutable_train()->mutable_settings()->set_batch(65'536);
  server_.Push(task);
  Connect();
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(client_->counters().malformed_tasks, 1u);
  EXPECT_EQ(declined.run(), "run");
  EXPECT_EQ(declined.round(), 7u);
  EXPECT_EQ(declined.node(), "south");
  EXPECT_EQ(declined.boot_id().size(), 16u);
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_TASK);
  EXPECT_TRUE(declined.for_good());
  EXPECT_EQ(declined.message(), "settings.batch must be from 2 to 4096, found 65536");
  EXPECT_EQ(Assigned().task.round, 1u) << "the stream goes on";
}

// A node that received unreadable shares still takes part in the run.
TEST_F(FederationClientTest, DeclinesARoundsMaskingForThatRoundAlone) {
  v1::ParticipateResponse task;
  task.set_run("run");
  task.mutable_share_keys()->set_round(3);
  server_.Push(task);
  Connect();
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.round(), 3u);
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_KEYS);
  EXPECT_FALSE(declined.for_good());
}

TEST_F(FederationClientTest, DeclinesATaskOfAKindThatItDoesNotKnow) {
  v1::ParticipateResponse task;
  task.set_run("run");
  server_.Push(task);
  Connect();
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.round(), 0u);
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_TASK);
}

TEST_F(FederationClientTest, SaysAgainThatItCannotDoATaskIfThatDidNotGetThrough) {
  server_.break_declines = 1;
  v1::ParticipateResponse task = TrainResponse(1, 10, 10);
  task.mutable_train()->mutable_settings()->set_batch(1);
  server_.Push(task);
  Connect();
  server_.AwaitDecline(2);
  const auto assignment = Assigned();
  server_.break_declines = 1;
  v1::DeclineTaskRequest decline;
  decline.set_reason(v1::DECLINE_REASON_IMAGES);
  decline.set_for_good(true);
  decline.set_message("of side 32");
  EXPECT_TRUE(client_->Decline(assignment, decline).ok());
  EXPECT_EQ(server_.AwaitDecline(4).message(), "of side 32");
}

TEST_F(FederationClientTest, GoesOnWithAnAggregatorThatTakesNoDeclines) {
  server_.knows_no_declines = true;
  v1::ParticipateResponse task = TrainResponse(1, 10, 10);
  task.mutable_train()->mutable_settings()->set_learning_rate(std::numeric_limits<double>::quiet_NaN());
  server_.Push(task);
  Connect();
  while (client_->counters().malformed_tasks == 0) std::this_thread::yield();
  const auto assignment = Assigned();
  EXPECT_EQ(assignment.task.round, 1u);
  v1::DeclineTaskRequest decline;
  decline.set_reason(v1::DECLINE_REASON_IMAGES);
  decline.set_for_good(true);
  decline.set_message("of side 32");
  EXPECT_TRUE(client_->Decline(assignment, decline).ok());
  EXPECT_EQ(client_->counters().streams, 1u);
}

TEST(FederationConvertTest, NamesTheFieldAtFault) {
  const auto fault = [](auto&& spoil) {
    v1::ParticipateResponse response = TrainResponse(1, 10, 10);
    spoil(*response.mutable_train());
    const auto task = wire::TaskFromWire(response);
    EXPECT_FALSE(task.ok());
    return std::string(task.status().message());
  };
  EXPECT_THAT(fault([](auto& t) { t.set_round(0); }), HasSubstr("round"));
  EXPECT_THAT(fault([](auto& t) { t.set_model_sha256("short"); }), HasSubstr("model_sha256"));
  EXPECT_THAT(fault([](auto& t) { t.set_model_bytes(wire::kMaxModelBytes + 1); }), HasSubstr("model_bytes"));
  EXPECT_THAT(fault([](auto& t) { t.set_element_count(0); }), HasSubstr("element_count"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_settings()->set_local_steps(0); }), HasSubstr("local_steps"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_settings()->set_momentum(1.5); }), HasSubstr("momentum"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_settings()->set_workload("x"); }), HasSubstr("workload"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FIXED32); }),
              HasSubstr("encoding"));
  EXPECT_THAT(fault([](auto& t) { t.set_fraction_bits(97); }), HasSubstr("fraction_bits"));
  EXPECT_THAT(fault([](auto& t) { t.set_max_element(0); }), HasSubstr("max_element"));
  EXPECT_THAT(fault([](auto& t) { t.set_max_element(2048); }), HasSubstr("max_element"));
  EXPECT_FALSE(wire::TaskFromWire(v1::ParticipateResponse()).ok());
}

}  // namespace
}  // namespace tributary::link
