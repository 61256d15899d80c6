#include "node/learner/classifier_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/encoder/class_priors.h"
#include "core/nn/encoder/classifier_file.h"
#include "node/learner/learner_fixture.h"

namespace tributary::learner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ClassifierTrainerTest : public LearnerFixture {
 protected:
  ClassifierTrainerTest() { Offer(0); }

  static constexpr std::uint64_t kHeadSeed = 77;

  // The run's model: with a head for so many classes, or without one.
  void Offer(std::size_t classes, std::optional<std::uint64_t> head_seed = kHeadSeed) {
    nn::ClassifierFile file{
        .encoder = encoder_, .classes = classes, .parameters = {}, .head_seed = head_seed};
    file.parameters = nn::FreshClassifier(file.encoder, classes, 3);
    global_ = file.parameters;
    server_.model = nn::EncodeClassifier(file);
  }

  v1::ParticipateResponse ClassifierTask(std::uint32_t round, const std::string& head) const {
    v1::ParticipateResponse task = Task(round);
    v1::ClientSettings& settings = *task.mutable_train()->mutable_settings();
    settings.set_workload("classifier");
    settings.set_head(head);
    settings.set_local_steps(4);
    settings.set_learning_rate(2);
    return task;
  }

  LearnerCounters Learn(std::uint32_t round, const std::string& head) {
    server_.Push(ClassifierTask(round, head));
    return Await(++rounds_);
  }

  static std::unique_ptr<Trainer> Classifier(images::ImageSet images = images::DrawGlyphs(60, 1),
                                             double held_out = 0.25) {
    return std::make_unique<ClassifierTrainer>(std::move(images), "south", held_out);
  }

  const nn::EncoderOptions encoder_ = {.channels = {4, 8}, .norm = nn::EncoderNorm::kFilterResponse};

  bool OnTheWire(std::span<const float> values) const {
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return std::ranges::any_of(
        server_.wire, [&](const std::string& message) { return message.find(bytes) != std::string::npos; });
  }

  std::string WhyDeclined(const v1::ParticipateResponse& task,
                          std::unique_ptr<Trainer> trainer = Classifier()) {
    StartWith(std::move(trainer));
    server_.Push(task);
    const v1::DeclineTaskRequest decline = server_.AwaitDecline();
    EXPECT_TRUE(decline.for_good());
    learner_->Stop();
    return decline.message();
  }
};

TEST_F(ClassifierTrainerTest, TrainsASharedHeadAndTellsItsAccuracy) {
  Offer(10);
  StartWith(Classifier());
  EXPECT_EQ(Learn(1, "shared").accepted, 1u);
  learner_->Stop();
  const v1::UpdateHeader& header = server_.submissions[0][0].header();
  EXPECT_EQ(header.sample_count(), 45u);  // a quarter is held out
  EXPECT_EQ(header.element_count(), global_.size());
  EXPECT_TRUE(header.metrics().has_held_out_accuracy());
  EXPECT_GT(header.metrics().loss(), 0);
  const std::vector<float> update = Received(server_.submissions[0]);
  for (const std::size_t part : {std::size_t{0}, global_.size() - 1}) EXPECT_NE(update[part], 0) << part;
}

// Reads the wire: no four neighbours of the head or the priors, and no room for them.
TEST_F(ClassifierTrainerTest, NothingOfAPersonalHeadLeavesTheNode) {
  StartWith(Classifier(images::DrawGlyphs(60, 1), 0), state_file_);
  for (const std::uint32_t round : {1, 2, 3}) EXPECT_EQ(Learn(round, "personal").accepted, round);
  learner_->Stop();
  const std::vector<float> drawn = nn::FreshClassifier(encoder_, 10, kHeadSeed);
  std::vector<float> personal(drawn.begin() + static_cast<std::ptrdiff_t>(global_.size()), drawn.end());
  const std::vector<float> priors = nn::LogPriors(images::DrawGlyphs(60, 1).labels, 10);
  personal.insert(personal.end(), priors.begin(), priors.end());
  const std::vector<float> nothing(4);
  for (std::size_t i = 0; i + 4 <= personal.size(); ++i) {
    const std::span<const float> four = std::span(personal).subspan(i, 4);
    ASSERT_TRUE(std::ranges::equal(four, nothing) || !OnTheWire(four)) << i;
  }
  // The search finds what does travel.
  const std::vector<float> sent = Received(server_.submissions[2]);
  EXPECT_TRUE(OnTheWire(std::span(sent).subspan(8, 4)));
  for (const auto& submission : server_.submissions) {
    EXPECT_EQ(submission[0].header().element_count(), global_.size());
  }
}

// Nothing is kept that a restart or another run could lose.
TEST_F(ClassifierTrainerTest, APersonalHeadIsTheSameAfterARestart) {
  StartWith(Classifier(), state_file_);
  for (const std::uint32_t round : {1, 2, 3}) Learn(round, "personal");
  learner_->Stop();
  const std::vector<float> expected = Received(server_.submissions[2]);
  EXPECT_FALSE(std::filesystem::exists(state_file_));
  learner_.reset();
  rounds_ = 0;
  server_.submissions.clear();
  StartWith(Classifier());
  Learn(3, "personal");
  learner_->Stop();
  EXPECT_EQ(Received(server_.submissions[0]), expected);
}

TEST_F(ClassifierTrainerTest, APersonalHeadIsDrawnFromTheSeedInTheModelsFile) {
  const auto update = [this] {
    rounds_ = 0;
    server_.submissions.clear();
    StartWith(Classifier());
    v1::ParticipateResponse task = ClassifierTask(1, "personal");
    server_.Push(task);
    Await(++rounds_);
    learner_.reset();
    return Received(server_.submissions[0]);
  };
  const std::vector<float> first = update();
  Offer(0, kHeadSeed + 1);
  EXPECT_NE(update(), first);
  // Releases before drew it from the run's seed.
  Offer(0, {});
  EXPECT_NE(update(), first);
  Offer(0, kHeadSeed);
  EXPECT_EQ(update(), first);
}

TEST_F(ClassifierTrainerTest, PriorsChangeTheUpdateAndStayOnTheNode) {
  Offer(10);
  images::ImageSet images = images::DrawGlyphs(60, 1);
  for (std::uint8_t& label : images.labels) label %= 4;
  StartWith(Classifier(images, 0), state_file_);
  Learn(1, "shared");
  Learn(1, "adjusted");
  learner_->Stop();
  EXPECT_NE(Received(server_.submissions[0]), Received(server_.submissions[1]));
  EXPECT_FALSE(std::filesystem::exists(state_file_)) << "priors are counted, not kept";
  const std::vector<float> priors = nn::LogPriors(images.labels, 10);
  EXPECT_NEAR(priors[9], std::log(0.1 / 61), 1e-6);
  EXPECT_FALSE(OnTheWire(priors));
  EXPECT_FALSE(OnTheWire(std::span(priors).first(4)));
}

TEST_F(ClassifierTrainerTest, APersonalHeadTellsTheClassesOfItsNode) {
  images::ImageSet few = images::DrawGlyphs(60, 1);
  for (std::uint8_t& label : few.labels) label %= 3;
  StartWith(Classifier(few));
  EXPECT_EQ(Learn(1, "personal").accepted, 1u);
  learner_->Stop();
}

TEST_F(ClassifierTrainerTest, AHeadThatOneSideSharesAndTheOtherKeepsIsDeclined) {
  Offer(10);
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "personal")),
              HasSubstr("heads are personal, and its model has one"));
}

TEST_F(ClassifierTrainerTest, ASharedHeadThatIsMissingIsDeclined) {
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "shared")), HasSubstr("head is shared, and its model has none"));
}

TEST_F(ClassifierTrainerTest, AClassThatTheSharedHeadDoesNotTellIsDeclined) {
  Offer(7);
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "shared")),
              HasSubstr("images of class 9, the run's head tells 7 classes"));
}

TEST_F(ClassifierTrainerTest, ImagesOfAnotherSideAreDeclined) {
  images::ImageSet images = images::DrawGlyphs(60, 1);
  images.side = 14;
  images.pixels.resize(60 * 14 * 14);
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "personal"), Classifier(images)),
              AllOf(HasSubstr("14 x 14"), HasSubstr("28 x 28")));
}

TEST_F(ClassifierTrainerTest, ANodeWithoutLabelsDeclines) {
  images::ImageSet images = images::DrawGlyphs(60, 1);
  images.labels.clear();
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "personal"), Classifier(images)), HasSubstr("no labelled image"));
}

TEST_F(ClassifierTrainerTest, AModelOfAnotherKindIsDeclined) {
  server_.model = nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(Small()));
  EXPECT_THAT(WhyDeclined(ClassifierTask(1, "personal")), HasSubstr("tributary-classifier-1"));
}

// The network of a classifier that a task may ask for is the aggregator's choice; the memory is this node's.
TEST_F(ClassifierTrainerTest, ATaskBeyondTheMemoryIsDeclined) {
  StartWith(Classifier(), "", 16 << 20);
  v1::ParticipateResponse task = ClassifierTask(1, "personal");
  task.mutable_train()->mutable_settings()->set_batch(4096);
  server_.Push(task);
  EXPECT_THAT(server_.AwaitDecline().message(), HasSubstr("a batch of 4096 images"));
}

}  // namespace
}  // namespace tributary::learner
