#include "core/graph/graph_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/graph/onnx_fixture.h"

namespace tributary::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelText;
using ::testing::StartsWith;

ModelText ThreeOutputs() {
  return ModelText()
      .Input("x", {-1, 2, 2})
      .Node("Flatten", {"x"}, "flat")
      .Floats("w", {4, 3}, std::vector<float>(12, 1))
      .Node("MatMul", {"flat", "w"}, "y")
      .Output("y");
}

ModelText WithMetadata(ModelText model, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *model.proto().add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
  return model;
}

std::string ModelFault(const ModelText& model, const OutputMeaning& meaning) {
  return std::string(DecodeGraphModel(model.Bytes(), meaning).status().message());
}

const OutputMeaning kThreeClasses = {.kind = OutputKind::kLogits, .output = "", .classes = {"a", "b", "c"}};

TEST(GraphModelTest, KnowsItsSizesAndMeaning) {
  const auto model = DecodeGraphModel(ThreeOutputs().Bytes(), kThreeClasses);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->inputs, 4u);
  EXPECT_EQ(model->outputs, 3u);
  EXPECT_EQ(model->meaning.temperature, 1);
  EXPECT_EQ(model->sha256.size(), 64u);
  EXPECT_TRUE(OpenSession(*model).ok());
}

TEST(GraphModelTest, TheConfigurationComesBeforeTheFile) {
  ModelText model = WithMetadata(ThreeOutputs(), "tributary.outputs", "probabilities");
  model = WithMetadata(model, "tributary.classes", "x,y,z");
  model = WithMetadata(model, "tributary.temperature", "2.5");
  model = WithMetadata(model, "author", "somebody");
  const auto said_by_file = DecodeGraphModel(model.Bytes(), {});
  ASSERT_TRUE(said_by_file.ok()) << said_by_file.status();
  EXPECT_EQ(said_by_file->meaning.kind, OutputKind::kProbabilities);
  EXPECT_THAT(said_by_file->meaning.classes, ElementsAre("x", "y", "z"));
  EXPECT_EQ(said_by_file->meaning.temperature, 2.5);
  const auto said_by_both = DecodeGraphModel(model.Bytes(), kThreeClasses);
  ASSERT_TRUE(said_by_both.ok()) << said_by_both.status();
  EXPECT_EQ(said_by_both->meaning.kind, OutputKind::kLogits);
  EXPECT_THAT(said_by_both->meaning.classes, ElementsAre("a", "b", "c"));
}

TEST(GraphModelTest, RefusesAFileThatSaysNonsense) {
  EXPECT_THAT(ModelFault(WithMetadata(ThreeOutputs(), "tributary.outputs", "guesses"), {}),
              StartsWith("kind: "));
  for (const char* number : {"0", "-1", "nan", "1e9", "warm"}) {
    EXPECT_THAT(ModelFault(WithMetadata(ThreeOutputs(), "tributary.temperature", number), kThreeClasses),
                StartsWith("temperature: "));
  }
  EXPECT_THAT(ModelFault(WithMetadata(ThreeOutputs(), "tributary.classes", "a,b\x1b[31m,c"),
                         {.kind = OutputKind::kLogits, .output = ""}),
              StartsWith("classes: must be different names"));
}

TEST(GraphModelTest, RefusesAMeaningThatDoesNotFit) {
  EXPECT_THAT(ModelFault(ThreeOutputs(), {}), StartsWith("kind: say what the outputs are"));
  EXPECT_THAT(
      ModelFault(ThreeOutputs(), {.kind = OutputKind::kLogits, .output = "", .classes = {"a", "a", "b"}}),
      StartsWith("classes: must be different"));
  EXPECT_THAT(ModelFault(ThreeOutputs(), {.kind = OutputKind::kLogDeviation, .output = ""}),
              HasSubstr("3 elements for a subject; a position has 4"));
  OutputMeaning elsewhere = kThreeClasses;
  elsewhere.output = "z";
  EXPECT_THAT(ModelFault(ThreeOutputs(), elsewhere), StartsWith("output: the graph has y"));
}

TEST(GraphModelTest, RefusesGraphsThatAreNotForASubject) {
  EXPECT_THAT(ModelFault(ModelText().Input("x", {4, 3}).Node("Relu", {"x"}, "y").Output("y"), kThreeClasses),
              HasSubstr("4 subjects at once"));
  EXPECT_THAT(
      ModelFault(ModelText().Input("x", {1, 3}).Input("z", {1, 3}).Node("Add", {"x", "z"}, "y").Output("y"),
                 kThreeClasses),
      HasSubstr("2 inputs; one is taken"));
  EXPECT_THAT(
      ModelFault(
          ModelText().Input("x", {1, 3}, onnx::TensorProto::INT64).Node("Relu", {"x"}, "y").Output("y"),
          kThreeClasses),
      HasSubstr("only float32 is taken"));
}

}  // namespace
}  // namespace tributary::graph
