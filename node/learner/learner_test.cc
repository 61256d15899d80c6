#include "node/learner/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "core/parameters/flat_model.h"
#include "core/parameters/tensor.h"
#include "node/learner/learner_fixture.h"

namespace tributary::learner {
namespace {

class LearnerTest : public LearnerFixture {};

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
  // Statistics are measured anew in each round: each round's error counts, and none is carried.
  std::vector<bool> measured(exact.size());
  const auto model = parameters::DecodeFlatModel(server_.model);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const parameters::StatisticRange& range : parameters::FindStatistics(model->layout.tensors)) {
    for (std::size_t i = 0; i < range.count; ++i) measured[range.first + i] = true;
  }
  ASSERT_GT(std::ranges::count(measured, true), 0);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(sent[i], exact[i], (measured[i] ? 3 : 1) * tolerance) << i;
  }
}

// What is not among the largest of the first update comes with the later ones; statistics do not.
TEST_F(LearnerTest, WhatTopKLeavesComesLater) {
  Start();
  Do(1, v1::UPDATE_ENCODING_TOPK);
  Do(2, v1::UPDATE_ENCODING_TOPK);
  learner_->Stop();
  const std::vector<float> first = Received(server_.submissions[0]);
  const std::vector<float> second = Received(server_.submissions[1]);
  server_.submissions.clear();
  Start();
  rounds_ = 0;
  Do(1);
  Do(2);
  learner_->Stop();
  const std::vector<float> whole = Received(server_.submissions[0]);
  const std::vector<float> next = Received(server_.submissions[1]);
  const auto model = parameters::DecodeFlatModel(server_.model);
  ASSERT_TRUE(model.ok());
  std::vector<bool> measured(whole.size());
  for (const parameters::StatisticRange& range : parameters::FindStatistics(model->layout.tensors)) {
    for (std::size_t i = 0; i < range.count; ++i) measured[range.first + i] = true;
  }
  std::size_t sent = 0;
  float largest = 0;
  for (const float value : second) largest = std::max(largest, std::abs(value));
  const float half_step = 0.51F * largest / 127;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (first[i] != 0) ++sent;
    // A statistic that both rounds left out, or sent, says nothing here.
    if (second[i] == 0) continue;
    const float due = next[i] + (measured[i] ? 0 : whole[i] - first[i]);
    EXPECT_NEAR(second[i], due, half_step) << i;
  }
  EXPECT_LE(sent, whole.size() / 32 + 1);
  EXPECT_GE(sent, whole.size() / 50) << "some are rounded to nothing";
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
