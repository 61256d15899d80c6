// Quantised layers in integers against the same graphs in floats, as ONNX defines them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/graph/quantised/layer_fixture.h"
#include "core/graph/session.h"

namespace tributary::graph {
namespace {

using testing::Compare;
using testing::Compared;
using testing::ExpectAllInIntegers;
using testing::FittingScale;
using ::testing::HasSubstr;
using testing::kByteTypes;
using testing::Opened;
using testing::QdqModel;
using testing::WhyOf;

struct ConvolutionCase {
  Shape input, weights;
  std::int64_t groups = 1;
  std::vector<std::int64_t> strides = {}, pads = {}, dilations = {};
  std::string activation = {};  // "Relu", "Clip" or none
  bool bias = false, per_channel = true;
};

QdqModel ConvolutionModel(const ConvolutionCase& given, ElementType type, std::uint64_t seed) {
  QdqModel qdq(seed);
  const Quantisation from{type, 0.021f, type == ElementType::kInt8 ? qdq.Whole(-20, 20) : qdq.Whole(90, 160)};
  constexpr float kWeight = 0.008f;
  const std::int64_t depth = Spec{ElementType::kInt8, given.weights}.elements() / given.weights[0];
  const Quantisation to{type, FittingScale(depth, from.scale, kWeight),
                        type == ElementType::kInt8 ? qdq.Whole(-60, 60) : qdq.Whole(60, 180)};
  std::vector<std::string> inputs = {qdq.Input("x", given.input, from),
                                     qdq.Weights(given.weights, kWeight, given.per_channel ? 0 : -1)};
  if (given.bias) inputs.push_back(qdq.Bias(given.weights[0], from.scale, 20'000));
  std::string value = qdq.Node("Conv", inputs, {{"group", given.groups}});
  if (!given.strides.empty()) qdq.model().With("strides", given.strides);
  if (!given.pads.empty()) qdq.model().With("pads", given.pads);
  if (!given.dilations.empty()) qdq.model().With("dilations", given.dilations);
  if (given.activation == "Relu") value = qdq.Node("Relu", {value});
  if (given.activation == "Clip") {
    qdq.model().Floats("least", {}, {-20 * to.scale}).Floats("most", {}, {33.3f * to.scale});
    value = qdq.Node("Clip", {value, "least", "most"});
  }
  qdq.model().Output(qdq.Quantised(value, to));
  return qdq;
}

TEST(QuantisedLayersTest, ConvolutionsGiveWhatFloatsGive) {
  const ConvolutionCase cases[] = {
      {.input = {1, 3, 12, 12},
       .weights = {16, 3, 3, 3},
       .pads = {1, 1, 1, 1},
       .activation = "Relu",
       .bias = true},
      {.input = {2, 16, 9, 7},
       .weights = {32, 16, 3, 3},
       .strides = {2, 2},
       .pads = {1, 1, 1, 1},
       .bias = true},
      {.input = {1, 64, 5, 5}, .weights = {48, 64, 1, 1}, .activation = "Clip"},
      {.input = {1, 17, 6, 6},
       .weights = {10, 17, 5, 3},
       .pads = {2, 0, 1, 1},
       .bias = true,
       .per_channel = false},
      {.input = {3, 5, 10, 4}, .weights = {33, 5, 2, 2}, .strides = {1, 3}, .dilations = {3, 2}},
      {.input = {1, 24, 9, 9},
       .weights = {24, 1, 3, 3},
       .groups = 24,
       .pads = {1, 1, 1, 1},
       .activation = "Relu"},
      {.input = {2, 35, 8, 8},
       .weights = {35, 1, 3, 3},
       .groups = 35,
       .strides = {2, 2},
       .pads = {1, 1, 1, 1},
       .bias = true},
      {.input = {1, 12, 6, 6},
       .weights = {18, 4, 3, 3},
       .groups = 3,
       .pads = {1, 1, 1, 1},
       .activation = "Clip",
       .bias = true},
      {.input = {1, 8, 20}, .weights = {12, 8, 5}, .strides = {2}, .pads = {2, 2}, .activation = "Relu"},
      {.input = {1, 300, 2, 2}, .weights = {40, 300, 2, 2}, .bias = true},
  };
  Compared all;
  for (const ElementType type : kByteTypes) {
    std::uint64_t seed = 1;
    for (const ConvolutionCase& each : cases) {
      SCOPED_TRACE(TextOf(each.input) + " with " + TextOf(each.weights) + " as " + std::string(NameOf(type)));
      QdqModel qdq = ConvolutionModel(each, type, seed++);
      ExpectAllInIntegers(qdq);
      const Compared compared = Compare(qdq);
      EXPECT_GT(compared.elements, 0);
      all += compared;
    }
  }
  // The float path rounds the sum of products; only sums that close to a tie may differ: with 24 bits of
  // mantissa and results of 8 bits, some in 2^15.
  EXPECT_LT(static_cast<double>(all.different), 4e-4 * static_cast<double>(all.elements));
  RecordProperty("different", std::to_string(all.different));
  RecordProperty("elements", std::to_string(all.elements));
}

// The test above would not see a kernel that gives zero points only.
TEST(QuantisedLayersTest, ResultsOfConvolutionsFillTheirRange) {
  QdqModel qdq = ConvolutionModel({.input = {1, 16, 9, 9}, .weights = {16, 16, 3, 3}, .pads = {1, 1, 1, 1}},
                                  ElementType::kInt8, 7);
  const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
  ASSERT_NE(session, nullptr);
  const Array x = qdq.Bytes(session->inputs()[0].spec);
  const View views[] = {x.view()};
  ASSERT_TRUE(session->Run(views).ok());
  const auto result = session->output(0).As<std::int8_t>();
  EXPECT_LT(std::ranges::min(result), -100);
  EXPECT_GT(std::ranges::max(result), 100);
}

TEST(QuantisedLayersTest, MatricesGiveWhatFloatsGive) {
  for (const ElementType type : kByteTypes) {
    for (const bool gemm : {false, true}) {
      for (const bool transposed : {false, true}) {
        if (transposed && !gemm) continue;
        QdqModel qdq(11);
        const Quantisation from{type, 0.05f, 3}, to{type, FittingScale(70, 0.05f, 0.01f), 17};
        const std::string x = qdq.Input("x", {5, 70}, from);
        const std::string w = transposed ? qdq.Weights({21, 70}, 0.01f, 0) : qdq.Weights({70, 21}, 0.01f, 1);
        const std::string b = qdq.Bias(21, from.scale, 9'000);
        std::string y = gemm ? qdq.Node("Gemm", {x, w, b}, {{"transB", transposed ? 1 : 0}})
                             : qdq.Node("Add", {qdq.Node("MatMul", {x, w}), b});
        y = qdq.Node("Relu", {y});
        qdq.model().Output(qdq.Quantised(y, to));
        ExpectAllInIntegers(qdq);
        EXPECT_EQ(Compare(qdq).elements, 3 * 5 * 21);
      }
    }
  }
}

// The second operand is added before the one rounding.
TEST(QuantisedLayersTest, AnOperandIsAddedToSumsOfProducts) {
  for (const ElementType type : kByteTypes) {
    QdqModel qdq(13);
    const Quantisation from{type, 0.03f, 5}, to{type, FittingScale(90, 0.03f, 0.01f) * 1.1f, 20};
    const std::string x = qdq.Input("x", {2, 10, 6, 6}, from);
    const std::string y = qdq.Node("Conv", {x, qdq.Weights({10, 10, 3, 3}, 0.01f, 0)});
    qdq.model().With("pads", {1, 1, 1, 1});
    qdq.model().Output(qdq.Quantised(qdq.Node("Relu", {qdq.Node("Add", {x, y})}), to));
    ExpectAllInIntegers(qdq);
    EXPECT_EQ(Compare(qdq).elements, 3 * 2 * 10 * 6 * 6);
  }
}

TEST(QuantisedLayersTest, ASumOfTwoTensorsGivesWhatFloatsGive) {
  for (const ElementType type : kByteTypes) {
    for (const float ratio : {0.3f, 1.0f, 2.7f}) {
      QdqModel qdq(17);
      const Quantisation left{type, 0.03f, 5}, right{type, 0.03f * ratio, 77},
          to{type, 0.03f * (1 + ratio), 30};
      const std::string a = qdq.Input("a", {2, 19, 5, 4}, left), b = qdq.Input("b", {2, 19, 5, 4}, right);
      qdq.model().Output(qdq.Quantised(qdq.Node("Relu", {qdq.Node("Add", {a, b})}), to));
      ExpectAllInIntegers(qdq);
      EXPECT_EQ(Compare(qdq, 10).elements, 10 * 2 * 19 * 5 * 4);
    }
  }
}

TEST(QuantisedLayersTest, PoolsGiveWhatFloatsGive) {
  for (const ElementType type : kByteTypes) {
    for (const std::string operation : {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}) {
      for (const bool same_scale : {false, true}) {
        SCOPED_TRACE(operation);
        QdqModel qdq(19);
        const Quantisation from{type, 0.04f, 9}, to{type, same_scale ? 0.04f : 0.025f, same_scale ? 9 : 50};
        const std::string y = qdq.Node(operation, {qdq.Input("x", {2, 18, 7, 9}, from)});
        if (!operation.starts_with("Global")) {
          qdq.model().With("kernel_shape", {3, 2}).With("strides", {2, 2});
          if (operation == "MaxPool") qdq.model().With("pads", {1, 1, 1, 0});
        }
        qdq.model().Output(qdq.Quantised(y, to));
        ExpectAllInIntegers(qdq);
        EXPECT_GT(Compare(qdq, 5).elements, 0);
      }
    }
  }
}

TEST(QuantisedLayersTest, MovesKeepTheirBytes) {
  QdqModel qdq(23);
  const Quantisation grid{ElementType::kUint8, 0.04f, 100};
  const std::string x = qdq.Input("x", {2, 6, 4, 5}, grid);
  qdq.model().Output(qdq.Quantised(qdq.Node("Flatten", {x}), grid));
  qdq.model().Output(qdq.Quantised(qdq.Node("Transpose", {x}), grid));
  const std::string turned = qdq.Node("Transpose", {x});
  qdq.model().With("perm", {0, 2, 3, 1});
  qdq.model().Integers("to", {2, 5, -1});
  qdq.model().Output(qdq.Quantised(qdq.Node("Reshape", {turned, "to"}), grid));
  ExpectAllInIntegers(qdq);
  const Compared compared = Compare(qdq);
  EXPECT_EQ(compared.elements, 3 * 3 * 240);
  EXPECT_EQ(compared.different, 0);
}

// Exporters leave out QuantizeLinear where the grid stays the same.
TEST(QuantisedLayersTest, PoolsAndMovesNeedNoQuantizeLinearOfTheirOwn) {
  QdqModel qdq(29);
  const Quantisation from{ElementType::kInt8, 0.04f, -9},
      to{ElementType::kInt8, FittingScale(32, 0.04f, 0.01f), 4};
  std::string y = qdq.Node("MaxPool", {qdq.Input("x", {1, 8, 4, 4}, from)});
  qdq.model().With("kernel_shape", {2, 2}).With("strides", {2, 2});
  y = qdq.Node("Flatten", {y});
  y = qdq.Node("Gemm", {y, qdq.Weights({32, 10}, 0.01f, 1)});
  qdq.model().Output(qdq.Quantised(y, to));
  ExpectAllInIntegers(qdq);
  EXPECT_EQ(Compare(qdq).elements, 3 * 10);
}

// A float node between layers, results that leave in the middle, and floats that have other readers.
TEST(QuantisedLayersTest, LayersAndFloatNodesTakeTurns) {
  QdqModel qdq(31);
  const Quantisation first{ElementType::kUint8, 0.02f, 120}, second{ElementType::kUint8, 0.004f, 0};
  const std::string x = qdq.Input("x", {1, 8, 6, 6}, first);
  const std::string largest = qdq.Node("MaxPool", {x});
  qdq.model().With("kernel_shape", {2, 2});
  const std::string pooled = qdq.Quantised(largest, first);
  qdq.model().Output(pooled);
  const std::string floats = qdq.Dequantised(pooled, first);
  const std::string gate = qdq.Through(qdq.Node("Sigmoid", {floats}), second);
  qdq.model().Output(qdq.Quantised(qdq.Node("Add", {gate, floats}), first));
  const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
  ASSERT_NE(session, nullptr);
  std::vector<std::string> in_floats;
  for (const NodeReport& node : session->nodes()) {
    if (node.arithmetic == "float32") in_floats.push_back(node.operation);
  }
  EXPECT_THAT(in_floats, ::testing::ElementsAre("DequantizeLinear", "Sigmoid", "QuantizeLinear"));
  EXPECT_GT(Compare(qdq).elements, 0);
}

// A node, two layers that are computed one after another, and a node.
TEST(QuantisedLayersTest, TimesAreThoseOfNodesAndLayers) {
  QdqModel qdq(19);
  const Quantisation grid{ElementType::kUint8, 0.05f, 20};
  const std::string x = qdq.Through("x", grid);
  qdq.model().Input("x", {1, 4, 6, 6});
  const std::string one = qdq.Through(qdq.Node("Relu", {x}), grid);
  const std::string sums = qdq.Node("Conv", {one, qdq.Weights({8, 4, 1, 1}, 0.01f, 0)});
  qdq.model().Output(qdq.Through(qdq.Node("Relu", {sums}), grid));
  const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
  ASSERT_NE(session, nullptr);
  Array image({ElementType::kFloat32, {1, 4, 6, 6}});
  const View views[] = {image.view()};
  ASSERT_TRUE(session->Run(views).ok());
  EXPECT_TRUE(session->times().empty() && session->parts().empty());
  session->KeepTimes();
  std::vector<std::size_t> nodes, times;
  for (const RunPart& part : session->parts()) {
    nodes.insert(nodes.end(), part.nodes.begin(), part.nodes.end());
    times.push_back(part.time);
  }
  std::ranges::sort(nodes);
  std::vector<std::size_t> all(session->nodes().size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(nodes, all);  // each node is in one part
  EXPECT_THAT(times,
              ::testing::ElementsAre(0, 1, 2, 3, 4));  // QuantizeLinear; ends; layers; DequantizeLinear
  EXPECT_TRUE(session->parts()[1].nodes.empty());
  EXPECT_EQ(session->nodes()[session->parts()[3].nodes[0]].operation, "Conv");
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->Run(views).ok());
    ASSERT_EQ(session->times().size(), 5u);
    for (const std::chrono::nanoseconds time : session->times()) EXPECT_GE(time.count(), 0);
    EXPECT_GT(std::accumulate(session->times().begin(), session->times().end(), std::chrono::nanoseconds(0))
                  .count(),
              0);
  }
}

TEST(QuantisedLayersTest, APlanSaysWhyANodeIsNoLayer) {
  const Quantisation grid{ElementType::kInt8, 0.05f, 0};
  const auto with = [&](const auto& build) {
    QdqModel qdq(37);
    const std::string x = qdq.Input("x", {1, 4, 6, 6}, grid);
    qdq.model().Output(qdq.Quantised(build(qdq, x), grid));
    return qdq;
  };
  QdqModel floats = with([](QdqModel& qdq, const std::string& x) {
    qdq.model().Floats("w", {4, 4, 1, 1}, std::vector<float>(16, 0.5f));
    return qdq.Node("Conv", {x, "w"});
  });
  EXPECT_THAT(WhyOf(floats, "Conv"), HasSubstr("the weights are not quantised"));
  QdqModel axis = with([](QdqModel& qdq, const std::string& x) {
    return qdq.Node("Conv", {x, qdq.Weights({4, 4, 1, 1}, 0.1f, 1)});
  });
  EXPECT_THAT(WhyOf(axis, "Conv"), HasSubstr("axis other than the channels out"));
  QdqModel edge = with([](QdqModel& qdq, const std::string& x) {
    const std::string y = qdq.Node("AveragePool", {x});
    qdq.model().With("kernel_shape", {3, 3}).With("pads", {1, 1, 1, 1});
    return y;
  });
  EXPECT_THAT(WhyOf(edge, "AveragePool"), HasSubstr("another divisor"));
  QdqModel other = with([](QdqModel& qdq, const std::string& x) { return qdq.Node("Softmax", {x}); });
  EXPECT_THAT(WhyOf(other, "Softmax"), HasSubstr("is not computed in integers"));
}

// Scales that would leave the exact range are left to the floats, which take them.
TEST(QuantisedLayersTest, ScalesTooFarApartAreLeftToFloats) {
  for (const auto& [input, output] :
       {std::pair(1e-30f, 1e30f), std::pair(1e30f, 1e-30f), std::pair(1e6f, 1e-6f)}) {
    QdqModel qdq(41);
    const Quantisation from{ElementType::kInt8, input, 0}, to{ElementType::kInt8, output, 0};
    const std::string a = qdq.Input("a", {1, 4, 2, 2}, from),
                      b = qdq.Input("b", {1, 4, 2, 2}, {ElementType::kInt8, 1, 0});
    qdq.model().Output(qdq.Quantised(qdq.Node("Add", {a, b}), to));
    EXPECT_GT(Compare(qdq).elements, 0);
  }
}

// Each link reads the result of the one before, without a QuantizeLinear between: a graph that would send a
// search without an end of its own down to the last.
TEST(QuantisedLayersTest, LongChainsWithinOneLayerAreLeftToFloats) {
  QdqModel qdq(43);
  const Quantisation grid{ElementType::kInt8, 0.05f, 0};
  std::string value = qdq.Input("x", {1, 4, 2, 2}, grid);
  for (int i = 0; i < 5'000; ++i) value = qdq.Node("Identity", {value});
  qdq.model().Output(qdq.Quantised(value, grid));
  EXPECT_GT(Compare(qdq, 1).elements, 0);
}

TEST(QuantisedLayersTest, TheFloatsOfWeightsAreNotKept) {
  QdqModel qdq =
      ConvolutionModel({.input = {1, 64, 4, 4}, .weights = {256, 64, 3, 3}}, ElementType::kInt8, 47);
  const auto integers = Opened(qdq.model(), Arithmetic::kIntegers),
             reference = Opened(qdq.model(), Arithmetic::kAsWritten);
  ASSERT_NE(integers, nullptr);
  ASSERT_NE(reference, nullptr);
  EXPECT_LT(integers->memory_bytes(), reference->memory_bytes() / 2);
}

TEST(QuantisedLayersTest, MemoryOfLayersIsCheckedBeforeItIsTaken) {
  QdqModel qdq =
      ConvolutionModel({.input = {1, 64, 64, 64}, .weights = {64, 64, 1, 1}}, ElementType::kInt8, 53);
  const std::string file = qdq.model().Bytes();
  const auto all = Session::Load(file);
  ASSERT_TRUE(all.ok());
  const std::uint64_t needed = (*all)->memory_bytes();
  EXPECT_EQ(Session::Load(file, {.memory_bytes = needed - 262'144}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tributary::graph
