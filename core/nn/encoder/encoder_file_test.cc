#include "core/nn/encoder/encoder_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

using ::testing::HasSubstr;

SelfSupervisedOptions SmallEncoder() {
  SelfSupervisedOptions options;
  options.encoder.side = 12;
  options.encoder.channels = {3, 5, 7};
  options.encoder.grid = 1;
  options.encoder.norm = EncoderNorm::kFilterResponse;
  options.projection = 6;
  options.bottleneck = 2;
  options.head_norm = false;
  return options;
}

parameters::TensorSet SmallSet() {
  return *parameters::DecodeSafetensors(EncodeEncoder(**SelfSupervisedTrainer::Create(SmallEncoder())));
}

std::string Fault(const parameters::TensorSet& set) {
  const absl::Status status = DecodeEncoder(parameters::EncodeSafetensors(set)).status();
  EXPECT_EQ(
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound,
      true)
      << status;
  return std::string(status.message());
}

TEST(EncoderFileTest, GivesBackOptionsAndParameters) {
  const auto trainer = SelfSupervisedTrainer::Create(SmallEncoder());
  const auto file = DecodeEncoder(EncodeEncoder(**trainer));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(std::ranges::equal(file->parameters, (*trainer)->parameters()));
  EXPECT_EQ(file->options.encoder.channels, SmallEncoder().encoder.channels);
  EXPECT_EQ(file->options.encoder.side, 12u);
  EXPECT_EQ(file->options.encoder.norm, EncoderNorm::kFilterResponse);
  EXPECT_EQ(file->options.projection, 6u);
  EXPECT_FALSE(file->options.head_norm);
}

TEST(EncoderFileTest, AModelWithoutPredictorComesBackAsOneForSimClr) {
  SelfSupervisedOptions options = FreshOptions(SelfSupervisedMethod::kSimClr);
  options.encoder = SmallEncoder().encoder;
  const auto trainer = SelfSupervisedTrainer::Create(options);
  const auto file = DecodeEncoder(EncodeEncoder(**trainer));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->options.bottleneck, 0u);
  EXPECT_EQ(file->options.method, SelfSupervisedMethod::kSimClr);
}

TEST(EncoderFileTest, AFileThatSaysNothingOfColourIsForGreyImages) {
  parameters::TensorSet set = SmallSet();
  EXPECT_EQ(set.metadata.erase("input_channels"), 1u);
  const auto grey = DecodeEncoder(parameters::EncodeSafetensors(set));
  ASSERT_TRUE(grey.ok()) << grey.status();
  EXPECT_EQ(grey->options.encoder.image(), (ImageShape{12, 1}));
}

TEST(EncoderFileTest, KeepsTheInputChannels) {
  SelfSupervisedOptions options = SmallEncoder();
  options.encoder.input_channels = 3;
  const auto file = DecodeEncoder(EncodeEncoder(**SelfSupervisedTrainer::Create(options)));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->options.encoder.image(), (ImageShape{12, 3}));
}

TEST(EncoderFileTest, NamesTheMetadataAtFault) {
  parameters::TensorSet set = SmallSet();
  set.metadata["format"] = std::string("other");
  EXPECT_THAT(Fault(set), HasSubstr("format"));
  set = SmallSet();
  set.metadata.erase("grid");
  EXPECT_THAT(Fault(set), HasSubstr("\"grid\" is missing"));
  set = SmallSet();
  set.metadata["channels"] = std::string("3,x");
  EXPECT_THAT(Fault(set), HasSubstr("\"channels\" is not a number"));
  set = SmallSet();
  set.metadata["input_channels"] = std::string("2");
  EXPECT_THAT(Fault(set), HasSubstr("encoder.input_channels must be 1 (grey) or 3 (colour), found 2"));
  set.metadata["input_channels"] = std::string("3");
  EXPECT_THAT(Fault(set), HasSubstr("encoder.conv1.weight"));
}

TEST(EncoderFileTest, NamesATensorThatDoesNotFitTheMetadata) {
  parameters::TensorSet set = SmallSet();
  set.metadata["projection"] = std::string("8");
  EXPECT_THAT(Fault(set), HasSubstr("pr"));
  set = SmallSet();
  const std::string name = set.tensors.begin()->first;
  set.tensors.erase(set.tensors.begin());
  EXPECT_THAT(Fault(set), HasSubstr(name));
}

}  // namespace
}  // namespace tributary::nn
