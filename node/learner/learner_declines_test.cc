// Tasks that a learner does not do, and what it tells the aggregator of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "node/learner/learner_fixture.h"

namespace tributary::learner {
namespace {

class LearnerDeclinesTest : public LearnerFixture {};

TEST_F(LearnerDeclinesTest, TrainsOnNoModelThatIsNotTheTasks) {
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

TEST_F(LearnerDeclinesTest, SaysThatItsImagesAreOfAnotherSideThanTheEncoderTakes) {
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
  EXPECT_EQ(declined.message(), "images of 32 x 32, the run's encoder takes 28 x 28");
  learner_->Stop();
  EXPECT_EQ(learner_->counters().failed, 1u);
  EXPECT_NE(metrics_->Text().find("tributary_learner_declined_tasks_total{reason=\"images\"} 1"),
            std::string::npos);
}

// The aggregator chooses the batch, up to 4,096; this node's panels are in the same process.
TEST_F(LearnerDeclinesTest, DeclinesForGoodATrainingThatNeedsMoreMemoryThanTheNodeHas) {
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

TEST_F(LearnerDeclinesTest, DeclinesAModelThatDoesNotFitBeforeItIsFetched) {
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

TEST_F(LearnerDeclinesTest, SaysThatItsBufferDoesNotSuitTheBatch) {
  Start("", 3);
  server_.Push(Task(1));
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_IMAGES);
  EXPECT_TRUE(declined.for_good());
}

TEST_F(LearnerDeclinesTest, DeclinesARoundWhoseTrainingDivergesAndTriesTheNext) {
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

TEST_F(LearnerDeclinesTest, DeclinesAModelThatCannotBeFetched) {
  server_.damage_chunks = true;
  Start();
  server_.Push(Task(1));
  const v1::DeclineTaskRequest declined = server_.AwaitDecline();
  EXPECT_EQ(declined.reason(), v1::DECLINE_REASON_FETCH);
  EXPECT_FALSE(declined.for_good());
}

TEST_F(LearnerDeclinesTest, CountsAFailureBeforeTheAggregatorHasHeardOfIt) {
  server_.damage_chunks = true;
  server_.break_declines = 1'000'000;
  Start();
  server_.Push(Task(1));
  EXPECT_EQ(Await(1).failed, 1u);
}

TEST_F(LearnerDeclinesTest, DeclinesNothingThatTheAggregatorNoLongerWantsOrRefused) {
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

}  // namespace
}  // namespace tributary::learner
