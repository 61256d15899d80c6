#include "core/wire/trainer_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kParameters = 300'000;  // two chunks

v1::TrainResponse Chunk(std::span<const float> values, std::size_t offset) {
  v1::TrainResponse response;
  *response.mutable_chunk() = ChunkToWire(values, offset);
  return response;
}

v1::TrainResponse Done(double loss) {
  v1::TrainResponse response;
  response.mutable_done()->set_loss(loss);
  return response;
}

class TrainedParametersTest : public ::testing::Test {
 protected:
  TrainedParametersTest() {
    for (std::size_t i = 0; i < kParameters; ++i) sent_[i] = static_cast<float>(i);
  }

  // The error of the first message that is refused.
  absl::Status Take(std::initializer_list<v1::TrainResponse> responses) {
    for (const v1::TrainResponse& each : responses) {
      if (absl::Status status = trained_.Take(each); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<float> sent_ = std::vector<float>(kParameters);
  std::vector<float> taken_ = std::vector<float>(kParameters);
  TrainedParameters trained_{taken_};
};

TEST(TrainerTaskTest, HasTheRunsSettings) {
  TrainTask task;
  task.run = "letters";
  task.round = 7;
  v1::ClientSettings& settings = *task.train.mutable_settings();
  settings.set_local_steps(50);
  settings.set_batch(32);
  settings.set_learning_rate(0.5);
  settings.set_momentum(0.9);
  settings.set_weight_decay(0.001);
  settings.set_proximal_mu(0.25);
  settings.set_seed(1);
  const std::vector<parameters::TensorShape> tensors = {{"w", {2, 3}}};
  const v1::TrainerTask wire = TrainerTaskToWire(task, 99, tensors);
  EXPECT_EQ(wire.run(), "letters");
  EXPECT_EQ(wire.round(), 7U);
  EXPECT_EQ(wire.local_steps(), 50U);
  EXPECT_EQ(wire.batch(), 32U);
  EXPECT_EQ(wire.learning_rate(), 0.5);
  EXPECT_EQ(wire.momentum(), 0.9);
  EXPECT_EQ(wire.weight_decay(), 0.001);
  EXPECT_EQ(wire.proximal_mu(), 0.25);
  EXPECT_EQ(wire.seed(), 99U) << "that of the node and the round";
  EXPECT_EQ(wire.tensors(0).shape_size(), 2);
}

TEST_F(TrainedParametersTest, AreWholeOnceTheProgramIsDone) {
  v1::TrainResponse progress;
  progress.mutable_progress()->set_step(1);
  ASSERT_TRUE(Take({progress, Chunk(sent_, 0), progress, Chunk(sent_, 262'144)}).ok());
  EXPECT_FALSE(trained_.done());
  ASSERT_TRUE(Take({Done(0.5)}).ok());
  EXPECT_TRUE(trained_.done());
  EXPECT_EQ(trained_.result().loss(), 0.5);
  EXPECT_EQ(taken_, sent_);
}

TEST_F(TrainedParametersTest, RefuseAGapARepetitionAndAnEarlyEnd) {
  EXPECT_THAT(std::string(Take({Chunk(sent_, 10)}).message()),
              HasSubstr("at parameter 10, expected the one at 0"));
  EXPECT_EQ(Take({Chunk(sent_, 0), Chunk(sent_, 0)}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Take({Done(0)}).message()), HasSubstr("done after 262144 parameters"));
}

TEST_F(TrainedParametersTest, RefuseMoreThanTheModelHas) {
  std::vector<float> longer(kParameters + 1);
  ASSERT_TRUE(Take({Chunk(longer, 0)}).ok());
  EXPECT_THAT(std::string(Take({Chunk(longer, 262'144)}).message()), HasSubstr("the model has 300000"));
}

TEST_F(TrainedParametersTest, RefuseBrokenFloatsEmptyMessagesAndWhatFollowsTheEnd) {
  v1::TrainResponse odd = Chunk(sent_, 0);
  odd.mutable_chunk()->mutable_values()->pop_back();
  EXPECT_EQ(Take({odd}).code(), absl::StatusCode::kInvalidArgument);
  v1::TrainResponse huge = Chunk(sent_, 0);
  huge.mutable_chunk()->mutable_values()->append(4, '\0');
  EXPECT_EQ(Take({huge}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Take({v1::TrainResponse()}).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Take({Chunk(sent_, 0), Chunk(sent_, 262'144), Done(0)}).ok());
  EXPECT_EQ(Take({Done(0)}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TrainedParametersTest, RefuseWhatIsNotFinite) {
  sent_[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Take({Chunk(sent_, 0)}).code(), absl::StatusCode::kOutOfRange);
  sent_[7] = 0;
  EXPECT_EQ(Take({Chunk(sent_, 0), Chunk(sent_, 262'144), Done(INFINITY)}).code(),
            absl::StatusCode::kOutOfRange);
}

TEST(CheckDescriptionTest, AdmitsANameAndACountAndSaysWhatIsWrong) {
  v1::DescribeTrainerResponse said;
  said.set_name("digits");
  said.set_sample_count(1);
  EXPECT_TRUE(CheckDescription(said).ok());
  said.set_sample_count(0);
  EXPECT_THAT(std::string(CheckDescription(said).message()), HasSubstr("found 0"));
  said.set_sample_count(std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(CheckDescription(said).ok());
  said.set_sample_count(1);
  for (const std::string& name :
       {std::string(), std::string(65, 'a'), std::string("a b"), std::string("\x1b[2J")}) {
    said.set_name(name);
    EXPECT_FALSE(CheckDescription(said).ok()) << name;
  }
}

}  // namespace
}  // namespace tributary::wire
