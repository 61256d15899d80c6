#include "node/learner/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "core/images/image_set.h"
#include "core/link/federation_server_fixture.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "core/parameters/update_encoding.h"
#include "tests/support/own_folder.h"

namespace tributary::learner {
namespace {

using testing::FakeFederation;
using testing::TrainResponse;

nn::SelfSupervisedOptions Small() {
  nn::SelfSupervisedOptions options;
  options.encoder.channels = {4, 8};
  options.projection = 8;
  options.bottleneck = 4;
  options.batch = 8;
  return options;
}

class LearnerTest : public ::testing::Test {
 protected:
  LearnerTest() {
    const auto trainer = nn::SelfSupervisedTrainer::Create(Small());
    server_.model = nn::EncodeEncoder(**trainer);
    global_.assign((*trainer)->parameters().begin(), (*trainer)->parameters().end());
    server_.chunk_bytes = 1 << 20;
    server_.answer.set_accepted(true);
  }

  ~LearnerTest() override { std::filesystem::remove(state_file_); }

  void Start(const std::string& state_file = "", std::size_t buffer = 0,
             images::ImageSet images = images::DrawGlyphs(40, 1), std::uint64_t memory_bytes = 0) {
    LearnerOptions options;
    options.memory_bytes = memory_bytes;
    options.client.aggregator = server_.address();
    options.client.node = "south";
    options.client.run = "run";
    options.state_file = state_file;
    options.buffer = buffer;
    metrics_.emplace();
    server_.Forget();  // a node that starts must not be given a task of the one before
    learner_.emplace(options, std::move(images), clock_, *metrics_);
    learner_->Start();
  }

  v1::ParticipateResponse Task(std::uint32_t round,
                               v1::UpdateEncoding encoding = v1::UPDATE_ENCODING_FLOAT32) const {
    v1::ParticipateResponse task = TrainResponse(round, global_.size(), server_.model.size());
    const parameters::Sha256 sha =
        parameters::ParameterIdentity(*parameters::DecodeSafetensors(server_.model));
    task.mutable_train()->set_model_sha256(sha.data(), sha.size());
    task.mutable_train()->mutable_settings()->set_encoding(encoding);
    return task;
  }

  // Waits until this many rounds have ended, with or without success.
  LearnerCounters Await(std::uint64_t rounds) {
    for (;;) {
      const LearnerCounters c = learner_->counters();
      if (c.accepted + c.refused + c.failed >= rounds) return c;
      std::this_thread::yield();
    }
  }

  LearnerCounters Do(std::uint32_t round, v1::UpdateEncoding encoding = v1::UPDATE_ENCODING_FLOAT32) {
    server_.Push(Task(round, encoding));
    return Await(++rounds_);
  }

  // The values of a submission.
  static std::vector<float> Received(const std::vector<v1::SubmitUpdateRequest>& submission) {
    const v1::UpdateHeader& header = submission[0].header();
    std::vector<float> all;
    parameters::UpdateDecoder decoder(static_cast<parameters::UpdateEncoding>(header.encoding()),
                                      header.element_count());
    for (std::size_t i = 1; i < submission.size(); ++i) {
      const v1::UpdateChunk& chunk = submission[i].chunk();
      const auto values = decoder.Decode(chunk.offset(), chunk.count(), chunk.payload());
      EXPECT_TRUE(values.ok()) << values.status();
      all.insert(all.end(), values->begin(), values->end());
    }
    return all;
  }

  runtime::SystemClock clock_;
  FakeFederation server_;
  std::vector<float> global_;
  std::uint64_t rounds_ = 0;
  const std::string state_file_ = OwnFolder() + "learner." +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                                  ".safetensors";
  std::optional<runtime::Metrics> metrics_;
  std::optional<Learner> learner_;
};

TEST_F(LearnerTest, TrainsAndSubmitsWhatItIsAskedFor) {
  Start();
  const LearnerCounters counters = Do(4);
  EXPECT_EQ(counters.accepted, 1u);
  EXPECT_EQ(counters.round, 4u);
  EXPECT_EQ(counters.steps, 2u);
  learner_->Stop();
  const v1::UpdateHeader& header = server_.submissions[0][0].header();
  EXPECT_EQ(header.sample_count(), 40u);
  EXPECT_EQ(header.metrics().steps(), 2u);
  EXPECT_EQ(header.metrics().loss(), counters.loss);
  const std::vector<float> update = Received(server_.submissions[0]);
  ASSERT_EQ(update.size(), global_.size());
  EXPECT_GT(parameters::SumOfSquares(update), 0);
  EXPECT_NE(metrics_->Text().find("tributary_learner_accepted_updates_total 1"), std::string::npos);
}

TEST_F(LearnerTest, GivesTheSameUpdateAfterARestart) {
  Start();
  Do(4);
  learner_.reset();
  Start();
  rounds_ = 0;
  Do(4);
  learner_->Stop();
  EXPECT_EQ(Received(server_.submissions[0]), Received(server_.submissions[1]));
}

// Error feedback: the next update contains what rounding removed from this one.
TEST_F(LearnerTest, CarriesTheRoundingErrorOverRoundsAndRestarts) {
  Start(state_file_);
  Do(1, v1::UPDATE_ENCODING_INT8);
  Do(2, v1::UPDATE_ENCODING_INT8);
  learner_.reset();
  Start(state_file_);
  rounds_ = 0;
  Do(3, v1::UPDATE_ENCODING_INT8);
  learner_->Stop();
  std::vector<float> sent(global_.size());
  for (const auto& submission : server_.submissions) {
    const std::vector<float> values = Received(submission);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += values[i];
  }

  server_.submissions.clear();
  Start();
  rounds_ = 0;
  for (const std::uint32_t round : {1, 2, 3}) Do(round);
  learner_->Stop();
  std::vector<float> exact(global_.size());
  float largest = 0;
  for (const auto& submission : server_.submissions) {
    const std::vector<float> values = Received(submission);
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += values[i];
    for (const float value : values) largest = std::max(largest, std::abs(value));
  }
  // Only the last round's error is missing: half a step of 1/127 of the largest value, which error feedback
  // may have raised by as much.
  const float tolerance = 0.51f / 127 * largest * 1.02f;
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(sent[i], exact[i], tolerance) << i;
}

// Half of each batch comes from the buffer of the rounds before, also after a kill.
TEST_F(LearnerTest, GoesOnWithItsBufferAfterAKillAndAWithdrawnRound) {
  constexpr std::size_t kBuffer = 12;
  Start("", kBuffer);
  for (const std::uint32_t round : {1, 2, 3}) Do(round);
  EXPECT_NE(metrics_->Text().find("tributary_learner_buffered_images 12"), std::string::npos);
  learner_.reset();

  Start(state_file_, kBuffer);
  rounds_ = 0;
  for (const std::uint32_t round : {1, 2}) Do(round);
  v1::ParticipateResponse endless = Task(7);
  endless.mutable_train()->mutable_settings()->set_local_steps(10'000'000);
  const std::size_t fetches = server_.fetches();
  server_.Push(endless);
  while (server_.fetches() == fetches) std::this_thread::yield();
  learner_.reset();  // in the middle of a round
  Start(state_file_, kBuffer);
  rounds_ = 0;
  Do(3);
  learner_.reset();
  ASSERT_EQ(server_.submissions.size(), 6u);
  EXPECT_EQ(Received(server_.submissions[5]), Received(server_.submissions[2]));

  Start("", kBuffer);  // nothing was kept: an empty buffer
  rounds_ = 0;
  Do(3);
  learner_.reset();
  EXPECT_NE(Received(server_.submissions[6]), Received(server_.submissions[2]));
}

TEST_F(LearnerTest, ARoundWhoseUpdateWasRefusedLeavesTheBufferAsItWas) {
  Start("", 12);
  Do(1);
  Do(2);
  learner_.reset();
  Start("", 12);
  rounds_ = 0;
  Do(1);
  server_.answer.set_accepted(false);
  server_.answer.set_reason(v1::SUBMIT_REFUSAL_LATE);
  Do(5);
  server_.answer.set_accepted(true);
  Do(2);
  learner_.reset();
  ASSERT_EQ(server_.submissions.size(), 5u);
  EXPECT_EQ(Received(server_.submissions[4]), Received(server_.submissions[1]));
}

TEST(LearnerStateTest, IsReadAsItWasWrittenOrNotAtAll) {
  const LearnerState state{"run", {1, -2}, {0.5f}, {{7, 0.25f}, {0, 1.5f}}};
  const std::string file = EncodeLearnerState(state);
  const auto read = DecodeLearnerState(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run, "run");
  EXPECT_EQ(read->residual, state.residual);
  EXPECT_EQ(read->local, state.local);
  EXPECT_EQ(read->buffer, state.buffer);
  // Every byte of the tensors is covered.
  constexpr std::size_t kTensorBytes = 7 * sizeof(float);
  for (std::size_t i = file.size() - kTensorBytes; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(DecodeLearnerState(damaged).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST_F(LearnerTest, ScalesItsUpdateDownToTheClipNorm) {
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->mutable_settings()->set_clip_norm(1e-3);
  Start();
  server_.Push(task);
  Await(1);
  learner_->Stop();
  EXPECT_NEAR(std::sqrt(parameters::SumOfSquares(Received(server_.submissions[0]))), 1e-3, 1e-8);
}

TEST_F(LearnerTest, CountsARefusalByItsReasonAndGoesOn) {
  server_.answer.set_accepted(false);
  server_.answer.set_reason(v1::SUBMIT_REFUSAL_LATE);
  Start();
  EXPECT_EQ(Do(1).refused, 1u);
  EXPECT_NE(metrics_->Text().find("tributary_learner_refused_updates_total{reason=\"late\"} 1"),
            std::string::npos);
  EXPECT_EQ(Do(2).refused, 2u);
}

TEST_F(LearnerTest, TrainsOnNoModelThatIsNotTheTasks) {
  Start();
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->set_model_sha256(std::string(32, 'x'));
  server_.Push(task);
  EXPECT_EQ(Await(1).failed, 1u);
  server_.AwaitDecline(1);  // another task would take this one back
  task = Task(2);
  task.mutable_train()->set_element_count(3);
  server_.Push(task);
  EXPECT_EQ(Await(2).failed, 2u);
  server_.AwaitDecline(2);  // another task would take this one back
  server_.model = "no safetensors";
  task.mutable_train()->set_round(3);
  task.mutable_train()->set_model_bytes(server_.model.size());
  server_.Push(task);
  EXPECT_EQ(Await(3).failed, 3u);
  server_.AwaitDecline(3);
  learner_->Stop();
  for (const auto& declined : server_.declines) EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_MODEL);
  EXPECT_FALSE(server_.declines[0].for_good()) << "the next round has another file";
  EXPECT_TRUE(server_.declines[1].for_good()) << "the next round has the same network";
  EXPECT_TRUE(server_.submissions.empty());
}

TEST_F(LearnerTest, SaysThatItsImagesAreOfAnotherSideThanTheEncoderTakes) {
  images::ImageSet images;
  images.side = 32;
  images.pixels.resize(20 * images.image_size());
  Start("", 0, images);
  server_.Push(Task(1));
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.run(), "run");
  EXPECT_EQ(declined.round(), 1u);
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_IMAGES);
  EXPECT_TRUE(declined.for_good());
  EXPECT_EQ(declined.message(), "images of side 32, the run's encoder takes 28");
  learner_->Stop();
  EXPECT_EQ(learner_->counters().failed, 1u);
  EXPECT_NE(metrics_->Text().find("tributary_learner_declined_tasks_total{reason=\"images\"} 1"),
            std::string::npos);
}

// The aggregator chooses the batch, up to 4,096; this node's panels are in the same process.
TEST_F(LearnerTest, DeclinesForGoodATrainingThatNeedsMoreMemoryThanTheNodeHas) {
  Start("", 0, images::DrawGlyphs(40, 1), 64 << 20);
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->mutable_settings()->set_batch(4096);
  server_.Push(task);
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_MEMORY);
  EXPECT_TRUE(declined.for_good());
  EXPECT_THAT(declined.message(),
              ::testing::HasSubstr("a batch of 4096 images of 28 x 28 through 4, 8 channels needs"));
  EXPECT_THAT(declined.message(), ::testing::HasSubstr("this node has 64 MiB for learning"));
  ++rounds_;
  EXPECT_EQ(Do(2).accepted, 1u) << "a smaller batch of another run";
  EXPECT_GT(learner_->counters().needed_bytes, 0u);
  EXPECT_EQ(learner_->counters().available_bytes, 64u << 20);
  EXPECT_NE(metrics_->Text().find("tributary_learner_declined_tasks_total{reason=\"memory\"} 1"),
            std::string::npos);
}

TEST_F(LearnerTest, DeclinesAModelThatDoesNotFitBeforeItIsFetched) {
  Start("", 0, images::DrawGlyphs(40, 1), 64 << 20);
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->set_element_count(20'000'000);
  task.mutable_train()->set_model_bytes(80'000'000);
  server_.Push(task);
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_MEMORY);
  EXPECT_THAT(declined.message(), ::testing::HasSubstr("a model of 20000000 parameters needs"));
  EXPECT_EQ(server_.fetches(), 0u);
}

TEST_F(LearnerTest, SaysThatItsBufferDoesNotSuitTheBatch) {
  Start("", 3);
  server_.Push(Task(1));
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_IMAGES);
  EXPECT_TRUE(declined.for_good());
}

TEST_F(LearnerTest, DeclinesARoundWhoseTrainingDivergesAndTriesTheNext) {
  Start();
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->mutable_settings()->set_learning_rate(100);
  task.mutable_train()->mutable_settings()->set_proximal_mu(1e6);
  task.mutable_train()->mutable_settings()->set_local_steps(100);
  server_.Push(task);
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_TRAINING);
  EXPECT_FALSE(declined.for_good());
  ++rounds_;
  EXPECT_EQ(Do(2).accepted, 1u);
}

TEST_F(LearnerTest, DeclinesAModelThatCannotBeFetched) {
  server_.damage_chunks = true;
  Start();
  server_.Push(Task(1));
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_FETCH);
  EXPECT_FALSE(declined.for_good());
}

// An aggregator that is out of reach is called until the task is withdrawn.
TEST_F(LearnerTest, CountsATrainingBeforeTheUpdateIsAnswered) {
  server_.hold_answers = true;
  Start();
  server_.Push(Task(1));
  while (learner_->counters().steps == 0) std::this_thread::yield();
  EXPECT_GT(learner_->counters().seconds, 0);
  EXPECT_EQ(learner_->counters().accepted, 0u);
  server_.Answer();
  EXPECT_EQ(Await(1).accepted, 1u);
}

TEST_F(LearnerTest, CountsAFailureBeforeTheAggregatorHasHeardOfIt) {
  server_.damage_chunks = true;
  server_.break_declines = 1'000'000;
  Start();
  server_.Push(Task(1));
  EXPECT_EQ(Await(1).failed, 1u);
}

TEST_F(LearnerTest, DeclinesNothingThatTheAggregatorNoLongerWantsOrRefused) {
  server_.answer.set_accepted(false);
  server_.answer.set_reason(v1::SUBMIT_REFUSAL_LATE);
  Start();
  Do(1);
  v1::ParticipateResponse endless = Task(2);
  endless.mutable_train()->mutable_settings()->set_local_steps(10'000'000);
  const std::size_t fetches = server_.fetches();
  server_.Push(endless);
  while (server_.fetches() == fetches) std::this_thread::yield();
  Do(3);
  learner_->Stop();
  EXPECT_TRUE(server_.declines.empty());
}

// Reads the wire: no message contains a row of any image, as pixels or as the network's input numbers.
TEST_F(LearnerTest, NothingOfAnImageLeavesTheNode) {
  Start();
  for (const std::uint32_t round : {1, 2}) Do(round);
  Do(3, v1::UPDATE_ENCODING_INT8);
  learner_->Stop();
  ASSERT_GE(server_.wire.size(), 10u);
  const images::ImageSet images = images::DrawGlyphs(40, 1);
  for (std::size_t row = 0; row < images.count() * images.side; ++row) {
    const auto pixels = std::span(images.pixels).subspan(row * images.side, images.side);
    const std::string bytes(pixels.begin(), pixels.end());
    std::vector<float> values(pixels.begin(), pixels.end());
    for (float& value : values) value /= 256;
    const std::string floats(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    for (const std::string& message : server_.wire) {
      ASSERT_EQ(message.find(bytes), std::string::npos);
      ASSERT_EQ(message.find(floats), std::string::npos);
    }
  }
}

TEST_F(LearnerTest, StopsInTheMiddleOfATraining) {
  v1::ParticipateResponse task = Task(1);
  task.mutable_train()->mutable_settings()->set_local_steps(10'000'000);
  Start();
  server_.Push(task);
  while (server_.fetches() == 0) std::this_thread::yield();
  learner_->Stop();
  EXPECT_TRUE(server_.submissions.empty());
}

}  // namespace
}  // namespace tributary::learner
