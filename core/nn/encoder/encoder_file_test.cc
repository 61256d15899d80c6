#include "core/nn/encoder/encoder_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/parameters/safetensors.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

SelfSupervisedOptions Small() {
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

TensorSet SmallSet() { return *DecodeSafetensors(EncodeEncoder(**SelfSupervisedTrainer::Create(Small()))); }

std::string Fault(const TensorSet& set) {
  const absl::Status status = DecodeEncoder(EncodeSafetensors(set)).status();
  EXPECT_EQ(
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound,
      true)
      << status;
  return std::string(status.message());
}

TEST(EncoderFileTest, GivesBackOptionsAndParameters) {
  const auto trainer = SelfSupervisedTrainer::Create(Small());
  const auto file = DecodeEncoder(EncodeEncoder(**trainer));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(std::ranges::equal(file->parameters, (*trainer)->parameters()));
  EXPECT_EQ(file->options.encoder.channels, Small().encoder.channels);
  EXPECT_EQ(file->options.encoder.side, 12u);
  EXPECT_EQ(file->options.encoder.norm, EncoderNorm::kFilterResponse);
  EXPECT_EQ(file->options.projection, 6u);
  EXPECT_FALSE(file->options.head_norm);
}

TEST(EncoderFileTest, NamesTheMetadataAtFault) {
  TensorSet set = SmallSet();
  set.metadata["format"] = std::string("other");
  EXPECT_THAT(Fault(set), HasSubstr("format"));
  set = SmallSet();
  set.metadata.erase("grid");
  EXPECT_THAT(Fault(set), HasSubstr("\"grid\" is missing"));
  set = SmallSet();
  set.metadata["channels"] = std::string("3,x");
  EXPECT_THAT(Fault(set), HasSubstr("\"channels\" is not a number"));
}

TEST(EncoderFileTest, NamesATensorThatDoesNotFitTheMetadata) {
  TensorSet set = SmallSet();
  set.metadata["projection"] = std::string("8");
  EXPECT_THAT(Fault(set), HasSubstr("pr"));
  set = SmallSet();
  const std::string name = set.tensors.begin()->first;
  set.tensors.erase(set.tensors.begin());
  EXPECT_THAT(Fault(set), HasSubstr(name));
}

}  // namespace
}  // namespace tributary
