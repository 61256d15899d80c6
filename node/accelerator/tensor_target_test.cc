#include "node/accelerator/tensor_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/graph/quantised/qdq_fixture.h"
#include "core/graph/session.h"

namespace tributary::accelerator {
namespace {

using graph::Arithmetic;
using graph::Array;
using graph::ElementType;
using graph::NodeReport;
using graph::Quantisation;
using graph::Session;
using graph::Shape;
using graph::View;
using graph::testing::QdqModel;
using ::testing::HasSubstr;

constexpr ElementType kTensorTypes[] = {ElementType::kInt8, ElementType::kUint8};
constexpr const char* kTensorUnit = "tensor unit (model)";

// Small, so that small images already need strips.
constexpr fpga::TensorUnitSize kSmallUnit = {.lanes = 8, .activations = 1 << 10, .pixels = 32, .line = 64};

class TensorTargetTest : public ::testing::Test {
 protected:
  explicit TensorTargetTest(const fpga::TensorUnitSize& size = kSmallUnit) : target_(size) {}

  std::unique_ptr<Session> OnUnit(QdqModel& qdq, bool strict = true) {
    auto session = Session::Load(qdq.model().Bytes(), {.accelerator = &target_, .strict = strict});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // Results on the unit are within one step of what the floats give.
  void ExpectAsInFloats(QdqModel& qdq) {
    const auto unit = OnUnit(qdq);
    const auto floats = *Session::Load(qdq.model().Bytes(), {.arithmetic = Arithmetic::kAsWritten});
    ASSERT_NE(unit, nullptr);
    for (const NodeReport& node : unit->nodes())
      EXPECT_EQ(node.runs_on, kTensorUnit) << node.name << ": " << node.why;
    EXPECT_GT(unit->accelerator().cycles, unit->accelerator().transfers);
    for (int run = 0; run < 3; ++run) {
      std::vector<Array> arrays;
      std::vector<View> views;
      for (const graph::PortReport& input : unit->inputs()) arrays.push_back(qdq.Bytes(input.spec));
      for (const Array& array : arrays) views.push_back(array.view());
      ASSERT_TRUE(unit->Run(views).ok());
      ASSERT_TRUE(floats->Run(views).ok());
      for (std::size_t o = 0; o < unit->outputs().size(); ++o) Compare(unit->output(o), floats->output(o));
    }
    EXPECT_GT(compared_, 0);
  }

  void Compare(const View& found, const View& expected) {
    ASSERT_EQ(*found.spec, *expected.spec);
    const int flip = found.spec->type == ElementType::kInt8 ? 128 : 0;  // int8 in order
    const auto f = found.As<std::uint8_t>(), e = expected.As<std::uint8_t>();
    for (std::size_t i = 0; i < f.size(); ++i) {
      EXPECT_LE(std::abs((f[i] ^ flip) - (e[i] ^ flip)), 1) << "element " << i;
      ++compared_;
    }
  }

  static std::string WhyOf(const Session& session, const std::string& operation) {
    for (const NodeReport& node : session.nodes()) {
      if (node.operation == operation) return node.runs_on == kTensorUnit ? "it does" : node.why;
    }
    return "";
  }

  TensorModelTarget target_;
  int compared_ = 0;
};

QdqModel QuantisedConvolution(const Shape& input, const Shape& weights, ElementType type,
                              std::int64_t group = 1, std::int64_t stride = 1, std::int64_t padding = 0) {
  QdqModel qdq(3);
  const float scale = 0.02f, weight = 0.01f;
  const auto depth = static_cast<float>(weights[1] * weights[2] * weights[3]);
  const Quantisation from{type, scale, 17}, to{type, std::sqrt(depth) * 90 * scale * weight, 40};
  const std::string x = qdq.Input("x", input, from), w = qdq.Weights(weights, weight, 0),
                    b = qdq.Bias(weights[0], scale, 5'000);
  const std::string y = qdq.Node("Conv", {x, w, b}, {{"group", group}});
  qdq.model().With("strides", {stride, stride}).With("pads", {padding, padding, padding, padding});
  qdq.model().Output(qdq.Quantised(qdq.Node("Relu", {y}), to));
  return qdq;
}

TEST_F(TensorTargetTest, ConvolutionsOfAllShapes) {
  for (const ElementType type : kTensorTypes) {
    for (QdqModel& qdq : std::vector<QdqModel>{
             QuantisedConvolution({1, 3, 10, 9}, {12, 3, 3, 3}, type, 1, 1, 1),   // three strips
             QuantisedConvolution({2, 20, 6, 6}, {9, 20, 1, 1}, type),            // two images
             QuantisedConvolution({1, 8, 9, 9}, {8, 8, 3, 3}, type, 1, 2, 1),     // strides
             QuantisedConvolution({1, 12, 9, 9}, {12, 1, 3, 3}, type, 12, 1, 1),  // depthwise, in place
             QuantisedConvolution({1, 12, 9, 9}, {12, 1, 3, 3}, type, 12, 2, 1)}) {
      ExpectAsInFloats(qdq);
    }
  }
}

TEST_F(TensorTargetTest, PoolsSumsMovesAndProducts) {
  for (const ElementType type : kTensorTypes) {
    QdqModel qdq(5);
    const Quantisation grid{type, 0.05f, 20}, wide{type, 0.09f, 60}, last{type, 0.2f, 10};
    const std::string x = qdq.Input("x", {2, 10, 6, 6}, grid), z = qdq.Input("z", {2, 10, 6, 6}, wide);
    qdq.model().Output(qdq.Quantised(qdq.Node("Add", {x, z}), wide));
    const std::string largest = qdq.Node("MaxPool", {z});
    qdq.model().With("kernel_shape", {3, 3}).With("pads", {1, 1, 1, 1}).With("strides", {2, 2});
    qdq.model().Output(qdq.Quantised(largest, wide));
    qdq.model().Output(qdq.Quantised(qdq.Node("Relu", {x}), wide));
    const std::string w = qdq.Weights({7, 10}, 0.02f, 0);
    const std::string mean = qdq.Quantised(qdq.Node("GlobalAveragePool", {x}), grid);
    qdq.model().Output(mean);
    ExpectAsInFloats(qdq);

    QdqModel product(6);
    const std::string flat = product.Node("Flatten", {product.Input("x", {2, 10, 1, 1}, grid)});
    const std::string weights = product.Weights({7, 10}, 0.02f, 0);
    product.model().Output(product.Quantised(product.Node("Gemm", {flat, weights}, {{"transB", 1}}), last));
    ExpectAsInFloats(product);
  }
}

// Products of integers with a pool and a move between them, as exporters write them.
TEST_F(TensorTargetTest, OperatorsOfIntegers) {
  for (const ElementType type : kTensorTypes) {
    QdqModel qdq(13);
    const Quantisation grid{type, 0.05f, 20}, middle{type, 0.4f, 60}, last{type, 0.9f, 10};
    const auto weights = [&](const Shape& shape) {
      graph::testing::IntegerWeightsText text{
          .type = ElementType::kUint8, .shape = shape, .values = {}, .zeros = {128}};
      for (std::int64_t i = 0; i < graph::Spec{ElementType::kUint8, shape}.elements(); ++i) {
        text.values.push_back(qdq.Whole(1, 255));
      }
      return text;
    };
    qdq.model().Input("x", {2, 10, 6, 6}, QdqModel::TypeNumber(type));
    std::string value = qdq.IntegerProduct("QLinearConv", "x", grid, weights({7, 10, 3, 3}), middle);
    value = qdq.Node("MaxPool", {value});
    qdq.model().With("kernel_shape", {4, 4});
    value = qdq.Node("Flatten", {value});
    qdq.model().Output(qdq.IntegerProduct("QLinearMatMul", value, middle, weights({7, 12}), last));
    ExpectAsInFloats(qdq);
  }
}

// The sum is part of the convolution's command if nobody else reads what the convolution gives: the same bits
// either way.
TEST_F(TensorTargetTest, SumsWithinACommandHaveTheBitsOfSumsAlone) {
  for (const ElementType type : kTensorTypes) {
    for (const bool product_first : {false, true}) {
      std::vector<std::vector<std::uint8_t>> results;
      std::vector<std::uint64_t> cycles;
      for (const bool shown : {false, true}) {
        QdqModel qdq(7);
        const Quantisation grid{type, 0.05f, 20}, middle{type, 0.07f, 90}, to{type, 0.1f, 33};
        const std::string x = qdq.Input("x", {1, 8, 6, 5}, grid);
        std::string y = qdq.Node("Conv", {x, qdq.Weights({8, 8, 3, 3}, 1e-3f, 0)});
        qdq.model().With("pads", {1, 1, 1, 1});
        y = qdq.Quantised(y, middle);
        const std::string z = qdq.Dequantised(y, middle);
        const std::string sum = qdq.Node("Add", product_first ? std::vector{z, x} : std::vector{x, z});
        qdq.model().Output(qdq.Quantised(qdq.Node("Relu", {sum}), to));
        if (shown) qdq.model().Output(y);
        const auto session = OnUnit(qdq);
        ASSERT_NE(session, nullptr);
        Array bytes = QdqModel(8).Bytes(session->inputs()[0].spec);
        const View views[] = {bytes.view()};
        ASSERT_TRUE(session->Run(views).ok());
        const auto result = session->output(0).As<std::uint8_t>();
        results.emplace_back(result.begin(), result.end());
        cycles.push_back(session->accelerator().cycles - session->accelerator().transfers);
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_LT(cycles[0], cycles[1]);
    }
  }
}

TEST_F(TensorTargetTest, SaysWhyALayerStaysOnTheProcessor) {
  QdqModel groups = QuantisedConvolution({1, 8, 6, 6}, {8, 4, 3, 3}, ElementType::kInt8, 2);
  EXPECT_THAT(WhyOf(*OnUnit(groups, false), "Conv"), HasSubstr("groups of several channels"));
  QdqModel wide = QuantisedConvolution({1, 8, 6, 6}, {8, 1, 5, 5}, ElementType::kInt8, 8);
  EXPECT_THAT(WhyOf(*OnUnit(wide, false), "Conv"), HasSubstr("not 3 × 3"));
  QdqModel large = QuantisedConvolution({1, 8, 40, 40}, {8, 8, 1, 1}, ElementType::kInt8);
  EXPECT_THAT(WhyOf(*OnUnit(large, false), "Conv"), HasSubstr("1600 vectors; the activation memory 1024"));
  // Each tensor fits, not both.
  QdqModel both = QuantisedConvolution({1, 8, 26, 26}, {8, 8, 1, 1}, ElementType::kInt8);
  EXPECT_THAT(WhyOf(*OnUnit(both, false), "Conv"), HasSubstr("take 1352 vectors"));
  QdqModel moved(9);
  const Quantisation grid{ElementType::kInt8, 0.1f, 0};
  moved.model().Output(moved.Quantised(moved.Node("Flatten", {moved.Input("x", {1, 4, 3, 3}, grid)}), grid));
  EXPECT_THAT(WhyOf(*OnUnit(moved, false), "Flatten"), HasSubstr("other channels"));
}

TEST_F(TensorTargetTest, StrictRefusesWhatTheProcessorWouldCompute) {
  QdqModel groups = QuantisedConvolution({1, 8, 6, 6}, {8, 4, 3, 3}, ElementType::kInt8, 2);
  const auto refused = Session::Load(groups.model().Bytes(), {.accelerator = &target_, .strict = true});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("(Conv) does not run on the tensor unit (model): it has groups"));
}

// What the unit does not take runs on the processor, between what it takes.
TEST_F(TensorTargetTest, SectionsTakeTurnsWithTheProcessor) {
  QdqModel qdq(11);
  const Quantisation grid{ElementType::kUint8, 0.05f, 100};
  std::string value = qdq.Input("x", {1, 8, 6, 6}, grid);
  for (const std::int64_t group : {1, 2, 1}) {
    value = qdq.Node("Conv", {value, qdq.Weights({8, 8 / group, 1, 1}, 2e-3f, 0)}, {{"group", group}});
    value = qdq.Through(value, grid);
  }
  const std::string last = qdq.Quantised(qdq.Node("Relu", {value}), grid);
  qdq.model().Output(last);
  const auto mixed = OnUnit(qdq, false);
  ASSERT_NE(mixed, nullptr);
  std::vector<std::string> where;
  for (const NodeReport& node : mixed->nodes()) {
    if (node.operation == "Conv") where.push_back(node.runs_on);
  }
  EXPECT_THAT(where, ::testing::ElementsAre(kTensorUnit, "processor", kTensorUnit));
}

TEST_F(TensorTargetTest, AProgramThatDoesNotFitTheMemoryIsLeftToTheProcessor) {
  // One channel in and out: padded to 32 × 32 weights for each of 961 taps, to 16 × 4 on the processor.
  const TensorModelTarget large({.lanes = 32, .activations = 1 << 10});
  QdqModel qdq = QuantisedConvolution({1, 1, 31, 31}, {1, 1, 31, 31}, ElementType::kInt8);
  auto session = Session::Load(qdq.model().Bytes(), {.memory_bytes = 300'000, .accelerator = &large});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(WhyOf(**session, "Conv"), HasSubstr("its program and buffers take"));
}

}  // namespace
}  // namespace tributary::accelerator
