#include "core/learning/trainable_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/nn/encoder/encoder_file.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/parameters/safetensors.h"

namespace tributary::learning {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

parameters::TensorSet Encoder() {
  nn::SelfSupervisedOptions options;
  options.encoder.channels = {4};
  const auto trainer = nn::SelfSupervisedTrainer::Create(options);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return *parameters::DecodeSafetensors(nn::EncodeEncoder(**trainer));
}

v1::ClientSettings SelfSupervised() {
  v1::ClientSettings client;
  client.set_workload("self_supervised");
  return client;
}

TEST(TrainableModelTest, TakesAnEncoderAndAFileThatNamesNoFormat) {
  EXPECT_EQ(CheckTrainable(SelfSupervised(), Encoder()), absl::OkStatus());
  parameters::TensorSet plain = Encoder();
  plain.metadata.clear();
  EXPECT_EQ(CheckTrainable(SelfSupervised(), plain), absl::OkStatus());
}

TEST(TrainableModelTest, RefusesAModelWithoutThePredictorThatTheMethodNeeds) {
  const auto trainer = nn::SelfSupervisedTrainer::Create(nn::FreshOptions(nn::SelfSupervisedMethod::kSimClr));
  const parameters::TensorSet model = *parameters::DecodeSafetensors(nn::EncodeEncoder(**trainer));
  v1::ClientSettings client = SelfSupervised();
  client.set_method("simclr");
  EXPECT_EQ(CheckTrainable(client, model), absl::OkStatus());
  EXPECT_EQ(CheckTrainable(client, Encoder()), absl::OkStatus());
  client.set_method("byol");
  EXPECT_THAT(std::string(CheckTrainable(client, model).message()),
              HasSubstr("the method byol needs a model with a predictor"));
}

TEST(TrainableModelTest, RefusesAnotherNetwork) {
  parameters::TensorSet positioning = Encoder();
  positioning.metadata["format"] = "tributary-positioning-1";
  const absl::Status status = CheckTrainable(SelfSupervised(), positioning);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("\"tributary-positioning-1\""), HasSubstr("self_supervised")));
}

TEST(TrainableModelTest, RefusesAnEncoderWhoseTensorsDoNotFitItsMetadata) {
  parameters::TensorSet damaged = Encoder();
  damaged.metadata["channels"] = "4,8";
  EXPECT_EQ(CheckTrainable(SelfSupervised(), damaged).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::learning
