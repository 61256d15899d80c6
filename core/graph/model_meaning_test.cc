#include "core/graph/model_meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/graph/onnx_fixture.h"

namespace tributary::graph {
namespace {

using ::testing::HasSubstr;
using testing::ModelText;

// One output of two classes, and one of three numbers from other weights.
ModelText TwoOutputs() {
  return ModelText()
      .Input("x", {-1, 4})
      .Floats("w", {4, 2}, std::vector<float>(8, 1))
      .Floats("v", {4, 3}, std::vector<float>(12, 2))
      .Node("MatMul", {"x", "w"}, "y")
      .Node("MatMul", {"x", "v"}, "z")
      .Output("y")
      .Output("z");
}

onnx::ModelProto ModelOf(const std::string& file) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(file));
  return model;
}

const OutputMeaning kNamedClasses = {
    .kind = OutputKind::kLogits, .output = "y", .classes = {"dark", "light"}, .temperature = 1.7};

TEST(ModelMeaningTest, TheFileThenSaysItAlone) {
  ModelText before = TwoOutputs();
  before.proto().set_producer_name("somebody");
  for (const auto& [key, value] :
       {std::pair("author", "somebody"), std::pair("tributary.outputs", "cholesky")}) {
    onnx::StringStringEntryProto& entry = *before.proto().add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  const auto decoded = DecodeGraphModel(before.Bytes(), kNamedClasses);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto file = WithMeaning(before.Bytes(), decoded->meaning);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto read = DecodeGraphModel(*file, {});
  ASSERT_TRUE(read.ok()) << read.status();
  OutputMeaning expected = kNamedClasses;
  expected.output = "";
  expected.covariance_scale = 1;
  EXPECT_EQ(read->meaning, expected);
  const onnx::ModelProto model = ModelOf(*file);
  EXPECT_EQ(model.producer_name(), "somebody");
  EXPECT_EQ(model.metadata_props(0).key(), "author");
  // What only the other output needs is gone.
  EXPECT_EQ(model.graph().output_size(), 1);
  EXPECT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).SerializeAsString(),
            before.graph().initializer(0).SerializeAsString());
}

TEST(ModelMeaningTest, ARepeatChangesNothing) {
  const auto decoded = DecodeGraphModel(TwoOutputs().Bytes(), kNamedClasses);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const std::string once = *WithMeaning(TwoOutputs().Bytes(), decoded->meaning);
  EXPECT_EQ(*WithMeaning(once, DecodeGraphModel(once, {})->meaning), once);
}

TEST(ModelMeaningTest, AClassWithACommaIsRefused) {
  OutputMeaning meaning = kNamedClasses;
  meaning.classes = {"dark, cold", "light"};
  const auto file = WithMeaning(TwoOutputs().Bytes(), meaning);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("dark, cold"));
}

}  // namespace
}  // namespace tributary::graph
