#include "core/nn/encoder/classifier_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "core/nn/encoder/supervised_trainer.h"
#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

using ::testing::HasSubstr;

ClassifierFile SmallFile(std::size_t classes) {
  ClassifierFile file{.encoder = {.side = 12, .channels = {3, 5}, .grid = 2, .norm = EncoderNorm::kNone},
                      .classes = classes,
                      .parameters = {}};
  file.parameters = FreshClassifier(file.encoder, classes, 4);
  return file;
}

std::string FaultOf(auto change, std::size_t classes = 4) {
  parameters::TensorSet set = *parameters::DecodeSafetensors(EncodeClassifier(SmallFile(classes)));
  change(set);
  return std::string(DecodeClassifier(parameters::EncodeSafetensors(set)).status().message());
}

TEST(ClassifierFileTest, GivesBackShapeAndParameters) {
  for (const std::size_t classes : {0, 2, 7}) {
    const ClassifierFile file = SmallFile(classes);
    const auto read = DecodeClassifier(EncodeClassifier(file));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->classes, classes);
    EXPECT_EQ(read->parameters, file.parameters);
    EXPECT_EQ(read->encoder.channels, file.encoder.channels);
    EXPECT_EQ(read->encoder.norm, EncoderNorm::kNone);
  }
}

TEST(ClassifierFileTest, AModelWithoutHeadHasNoTensorOfOne) {
  const auto set = *parameters::DecodeSafetensors(EncodeClassifier(SmallFile(0)));
  for (const auto& [name, tensor] : set.tensors) EXPECT_THAT(name, HasSubstr("encoder."));
}

TEST(ClassifierFileTest, SaysWhichSeedDrawsAHeadThatItDoesNotHave) {
  ClassifierFile file = SmallFile(0);
  EXPECT_FALSE(DecodeClassifier(EncodeClassifier(file))->head_seed.has_value());
  file.head_seed = ~std::uint64_t{0};
  EXPECT_EQ(DecodeClassifier(EncodeClassifier(file))->head_seed, file.head_seed);
}

TEST(ClassifierFileTest, NamesWhatDoesNotFit) {
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["head_seed"] = std::string("-1"); }),
              HasSubstr("\"head_seed\" is not a number"));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["format"] = std::string("tributary-encoder-1"); }),
              HasSubstr("\"format\""));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata.erase("classes"); }), HasSubstr("\"classes\" is missing"));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["classes"] = std::string("many"); }),
              HasSubstr("\"classes\" is not a number"));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["classes"] = std::string("1000000"); }),
              HasSubstr("classes must be from 2"));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["classes"] = std::string("5"); }), HasSubstr("head.bias"));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["classes"] = std::string("0"); }), HasSubstr("head."));
  EXPECT_THAT(FaultOf([](auto& set) { set.metadata["norm"] = std::string("batch"); }),
              HasSubstr("norm must be"));
  EXPECT_THAT(FaultOf([](auto& set) { set.tensors.erase("head.weight"); }), HasSubstr("head.weight"));
  EXPECT_THAT(FaultOf([](auto& set) {
                const float nan = std::numeric_limits<float>::quiet_NaN();
                const std::uint64_t shape[] = {4};
                const float values[] = {0, nan, 0, 0};
                set.tensors["head.bias"] = parameters::FloatTensor(shape, values);
              }),
              HasSubstr("is not finite"));
}

}  // namespace
}  // namespace tributary::nn
