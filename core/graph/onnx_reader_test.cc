#include "core/graph/onnx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/graph/onnx_fixture.h"

namespace tributary::graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ModelText;

std::string FaultOf(const ModelText& model) {
  return std::string(ReadOnnx(model.Bytes()).status().message());
}

ModelText OneNode() { return ModelText().Input("x", {2, 3}).Node("Relu", {"x"}, "y").Output("y"); }

TEST(OnnxReaderTest, ResolvesNamesAndKeepsConstants) {
  const auto graph = ReadOnnx(ModelText()
                                  .Input("x", {2, -1})
                                  .Floats("w", {2}, {1, 2})
                                  .Node("Add", {"x", "w"}, "sum")
                                  .Node("Relu", {"sum"}, "y", {{"axis", 3}})
                                  .Output("y")
                                  .Bytes(),
                              {.dimensions = {{"N", 7}}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].operation, "Add");
  EXPECT_EQ(*graph->nodes[1].attributes.Integer("axis", 0), 3);
  EXPECT_FALSE(graph->nodes[1].attributes.Real("axis", 0).ok());
  EXPECT_EQ(graph->inputs[0].spec.shape, (Shape{2, 7}));
  const Value& w = graph->values[static_cast<std::size_t>(graph->nodes[0].inputs[1])];
  ASSERT_EQ(w.constant.size(), 1u);
  EXPECT_EQ(w.constant[0].As<float>()[1], 2);
}

TEST(OnnxReaderTest, ADimensionOfAnySizeIsOne) {
  EXPECT_EQ(ReadOnnx(ModelText().Input("x", {-1, 3}).Node("Relu", {"x"}, "y").Output("y").Bytes())
                ->inputs[0]
                .spec.shape,
            (Shape{1, 3}));
}

TEST(OnnxReaderTest, PutsNodesIntoAnOrderInWhichTheyCanRun) {
  const auto graph = ReadOnnx(
      ModelText().Input("x", {2}).Node("Exp", {"b"}, "y").Node("Relu", {"x"}, "b").Output("y").Bytes());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes[0].operation, "Relu");
}

TEST(OnnxReaderTest, RefusesBytesThatAreNoModel) {
  EXPECT_FALSE(ReadOnnx("no model").ok());
  EXPECT_FALSE(ReadOnnx("").ok());
  const std::string whole = OneNode().Bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) (void)ReadOnnx(whole.substr(0, length));
}

TEST(OnnxReaderTest, RefusesACycle) {
  EXPECT_THAT(FaultOf(ModelText().Node("Relu", {"b"}, "a").Node("Exp", {"a"}, "b").Output("b")),
              AllOf(HasSubstr("node \"a\""), HasSubstr("cycle")));
}

TEST(OnnxReaderTest, RefusesValuesWithoutASourceOrWithTwo) {
  EXPECT_THAT(FaultOf(ModelText().Node("Relu", {"x"}, "y").Output("y")),
              HasSubstr("nothing gives its input \"x\""));
  EXPECT_THAT(FaultOf(OneNode().Output("z")), HasSubstr("output \"z\": nothing gives it"));
  EXPECT_THAT(FaultOf(OneNode().Node("Exp", {"x"}, "y")), HasSubstr("\"y\": two sources"));
  EXPECT_THAT(FaultOf(ModelText().Input("x", {1}).Node("Relu", {"x"}, "y")), HasSubstr("has no output"));
}

TEST(OnnxReaderTest, RefusesOtherOperatorSetsDomainsAndFunctions) {
  ModelText old = OneNode();
  old.proto().mutable_opset_import(0)->set_version(9);
  EXPECT_THAT(FaultOf(old), HasSubstr("operator set 9; 13 to 17 are taken"));
  ModelText foreign = OneNode();
  foreign.graph().mutable_node(0)->set_domain("com.example\n");
  EXPECT_THAT(FaultOf(foreign), AllOf(HasSubstr("com.example?"), HasSubstr("not known")));
  ModelText functions = OneNode();
  functions.proto().add_functions();
  EXPECT_THAT(FaultOf(functions), HasSubstr("functions"));
}

TEST(OnnxReaderTest, RefusesTensorsElsewhereAndSizesThatDoNotFit) {
  ModelText elsewhere = OneNode().Floats("w", {2}, {1, 2});
  elsewhere.graph().mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL);
  elsewhere.graph().mutable_initializer(0)->add_external_data()->set_value("../../etc/passwd");
  EXPECT_THAT(FaultOf(elsewhere), AllOf(HasSubstr("tensor \"w\""), HasSubstr("another file")));
  EXPECT_THAT(FaultOf(OneNode().Floats("w", {3}, {1, 2})), HasSubstr("8 bytes for float32 [3]"));
  EXPECT_THAT(FaultOf(OneNode().Floats("w", {1 << 20, 1 << 20}, {})), HasSubstr("too large"));
  EXPECT_THAT(FaultOf(OneNode().Floats("w", {1 << 30}, {})), HasSubstr("0 bytes for"));
  EXPECT_THAT(FaultOf(OneNode().Floats("w", {-1}, {})), HasSubstr("negative"));
  EXPECT_THAT(FaultOf(OneNode().Floats("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})), HasSubstr("9 dimensions"));
  EXPECT_THAT(
      FaultOf(ModelText().Input("x", {1}, onnx::TensorProto::STRING).Node("Relu", {"x"}, "y").Output("y")),
      AllOf(HasSubstr("input \"x\""), HasSubstr("type 8 is not taken")));
}

TEST(OnnxReaderTest, RefusesOutputsWithoutAName) {
  ModelText split = OneNode();
  split.graph().mutable_node(0)->set_op_type("Split");
  split.graph().mutable_node(0)->mutable_output()->Clear();
  split.graph().mutable_node(0)->add_output("");
  split.graph().mutable_node(0)->add_output("y");
  EXPECT_THAT(FaultOf(split), HasSubstr("its first outputs have no name"));
}

TEST(OnnxReaderTest, RefusesSubgraphsAndTooManyNodes) {
  ModelText branch = OneNode();
  onnx::AttributeProto& attribute = *branch.graph().mutable_node(0)->add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  EXPECT_THAT(FaultOf(branch), HasSubstr("attribute \"then_branch\": its type is not taken"));
  ModelText many = OneNode();
  for (int i = 0; i <= kMaxNodes; ++i) many.Node("Relu", {"x"}, "z" + std::to_string(i));
  EXPECT_THAT(FaultOf(many), HasSubstr("at most 10000"));
}

}  // namespace
}  // namespace tributary::graph
