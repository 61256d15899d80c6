// ONNX's operators of integers as quantised layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/graph/quantised/layer_fixture.h"
#include "core/graph/session.h"

namespace tributary::graph {
namespace {

using ::testing::AllOf;
using testing::Compare;
using testing::Compared;
using testing::ExpectAllInIntegers;
using testing::FittingScale;
using ::testing::HasSubstr;
using testing::IntegerWeightsText;
using testing::kByteTypes;
using testing::Opened;
using testing::QdqModel;
using testing::WhyOf;

// How weights can be stored whose values less their zero points are int8.
struct Storage {
  ElementType type;
  std::int32_t zero, least, most;
};
constexpr Storage kStorages[] = {{ElementType::kInt8, 0, -127, 127},
                                 {ElementType::kUint8, 128, 1, 255},
                                 {ElementType::kUint8, 20, 0, 147},
                                 {ElementType::kInt8, -100, -128, 27}};

IntegerWeightsText RandomWeights(QdqModel& qdq, const Shape& shape, const Storage& storage,
                                 std::int64_t channels) {
  IntegerWeightsText weights{.type = storage.type, .shape = shape, .values = {}, .zeros = {}, .scales = {}};
  for (std::int64_t i = 0; i < Spec{ElementType::kInt8, shape}.elements(); ++i) {
    weights.values.push_back(qdq.Whole(storage.least, storage.most));
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    weights.zeros.push_back(storage.zero);
    weights.scales.push_back(0.01f * std::exp2(static_cast<float>(qdq.Whole(-100, 100)) / 100.0f));
  }
  return weights;
}

struct ConvolutionOfIntegers {
  Shape input, weights;
  std::int64_t groups = 1;
  std::vector<std::int64_t> strides = {}, pads = {};
  bool bias = false, per_channel = true;
};

QdqModel IntegerConvolution(const ConvolutionOfIntegers& given, ElementType type, const Storage& storage) {
  QdqModel qdq(61);
  const Quantisation from{type, 0.02f, type == ElementType::kInt8 ? -7 : 120};
  const std::int64_t outputs = given.weights[0];
  const std::int64_t depth = Spec{ElementType::kInt8, given.weights}.elements() / outputs;
  const Quantisation to{type, FittingScale(depth, from.scale, 0.01f), type == ElementType::kInt8 ? 12 : 130};
  IntegerWeightsText weights = RandomWeights(qdq, given.weights, storage, given.per_channel ? outputs : 1);
  if (given.bias) {
    for (std::int64_t c = 0; c < outputs; ++c) weights.bias.push_back(qdq.Whole(-20'000, 20'000));
  }
  qdq.model().Input("x", given.input, QdqModel::TypeNumber(type));
  const std::string y = qdq.IntegerProduct("QLinearConv", "x", from, weights, to, {{"group", given.groups}});
  if (!given.strides.empty()) qdq.model().With("strides", given.strides);
  if (!given.pads.empty()) qdq.model().With("pads", given.pads);
  qdq.model().Output(y);
  return qdq;
}

TEST(IntegerOperatorsTest, ConvolutionsGiveWhatTheirOperatorGives) {
  const ConvolutionOfIntegers cases[] = {
      {.input = {1, 3, 12, 12}, .weights = {16, 3, 3, 3}, .pads = {1, 1, 1, 1}, .bias = true},
      {.input = {2, 16, 9, 7}, .weights = {32, 16, 3, 3}, .strides = {2, 2}, .per_channel = false},
      {.input = {1, 24, 9, 9}, .weights = {24, 1, 3, 3}, .groups = 24, .pads = {1, 1, 1, 1}, .bias = true},
      {.input = {1, 12, 6, 6}, .weights = {18, 4, 3, 3}, .groups = 3, .pads = {1, 0, 2, 1}},
      {.input = {1, 8, 20}, .weights = {12, 8, 5}, .strides = {2}, .pads = {2, 2}, .bias = true},
  };
  Compared all;
  for (const ElementType type : kByteTypes) {
    for (const Storage& storage : kStorages) {
      for (const ConvolutionOfIntegers& each : cases) {
        SCOPED_TRACE(TextOf(each.weights) + " less " + std::to_string(storage.zero) + ", " +
                     std::string(NameOf(type)));
        QdqModel qdq = IntegerConvolution(each, type, storage);
        ExpectAllInIntegers(qdq);
        const Compared compared = Compare(qdq);
        EXPECT_GT(compared.elements, 0);
        all += compared;
      }
    }
  }
  // As QuantisedLayersTest.ConvolutionsGiveWhatFloatsGive has it.
  EXPECT_LT(static_cast<double>(all.different), 4e-4 * static_cast<double>(all.elements));
}

// Against the definition, not against our operator.
TEST(IntegerOperatorsTest, MatricesGiveWhatOnnxDefines) {
  constexpr std::int64_t kRows = 5, kDepth = 40, kColumns = 21;
  for (const ElementType type : kByteTypes) {
    for (const Storage& storage : kStorages) {
      QdqModel qdq(67);
      const Quantisation from{type, 0.05f, 30}, to{type, FittingScale(kDepth, 0.05f, 0.01f), 17};
      const IntegerWeightsText weights = RandomWeights(qdq, {kDepth, kColumns}, storage, kColumns);
      qdq.model().Input("x", {kRows, kDepth}, QdqModel::TypeNumber(type));
      qdq.model().Output(qdq.IntegerProduct("QLinearMatMul", "x", from, weights, to));
      ExpectAllInIntegers(qdq);
      const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
      ASSERT_NE(session, nullptr);
      const Array x = qdq.Bytes(session->inputs()[0].spec);
      const View views[] = {x.view()};
      ASSERT_TRUE(session->Run(views).ok());
      const auto level = [type](const View& view, std::int64_t i) -> double {
        if (type == ElementType::kInt8) return view.As<std::int8_t>()[Size(i)];
        return view.As<std::uint8_t>()[Size(i)];
      };
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t column = 0; column < kColumns; ++column) {
          double sum = 0;
          for (std::int64_t k = 0; k < kDepth; ++k) {
            sum += (level(x.view(), row * kDepth + k) - from.zero_point) *
                   (weights.values[Size(k * kColumns + column)] - storage.zero);
          }
          const double real = sum * from.scale * weights.scales[Size(column)] / to.scale;
          const double expected =
              std::clamp<double>(std::nearbyint(real) + to.zero_point, to.lowest(), to.highest());
          const bool tie = std::abs(std::abs(real - std::floor(real)) - 0.5) < 1e-4;
          EXPECT_NEAR(level(session->output(0), row * kColumns + column), expected, tie ? 1 : 0);
        }
      }
    }
  }
}

// As exporters write them: pools and moves read integers, and have no scale of their own.
TEST(IntegerOperatorsTest, PoolsAndMovesBetweenIntegersAreLayers) {
  for (const ElementType type : kByteTypes) {
    QdqModel qdq(71);
    const Quantisation from{type, 0.02f, 9}, middle{type, FittingScale(27, 0.02f, 0.01f), 20},
        to{type, FittingScale(72, middle.scale, 0.01f), 40};
    const Storage& storage = kStorages[1];
    const std::string x = qdq.Quantised("x", from);
    qdq.model().Input("x", {2, 3, 8, 8});
    const std::string sums =
        qdq.IntegerProduct("QLinearConv", x, from, RandomWeights(qdq, {8, 3, 3, 3}, storage, 8), middle);
    const std::string largest = qdq.Node("MaxPool", {sums});
    qdq.model().With("kernel_shape", {2, 2}).With("strides", {2, 2});
    const std::string flat = qdq.Node("Flatten", {qdq.Node("Identity", {largest})});
    qdq.model().Output(largest);
    qdq.model().Output(
        qdq.IntegerProduct("QLinearMatMul", flat, middle, RandomWeights(qdq, {72, 10}, storage, 1), to));
    const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
    ASSERT_NE(session, nullptr);
    for (const NodeReport& node : session->nodes()) {
      if (node.operation == "QuantizeLinear") continue;
      EXPECT_EQ(node.arithmetic, "int8") << node.operation << ": " << node.why;
    }
    const auto reference = Opened(qdq.model(), Arithmetic::kAsWritten);
    Array image({ElementType::kFloat32, {2, 3, 8, 8}});
    for (float& pixel : image.As<float>()) pixel = static_cast<float>(qdq.Whole(-200, 200)) / 100;
    const View views[] = {image.view()};
    ASSERT_TRUE(session->Run(views).ok() && reference->Run(views).ok());
    const auto found = session->output(1).As<std::uint8_t>(),
               expected = reference->output(1).As<std::uint8_t>();
    // Inputs of the product may differ by a step where a sum lies at a tie: none of these does.
    EXPECT_TRUE(std::ranges::equal(found, expected));
    EXPECT_GT(std::ranges::max(found) - std::ranges::min(found), 50);
  }
}

// A bias is a number of sums, so none is finer than these.
TEST(IntegerOperatorsTest, ABiasOfIntegersFitsAnyFactor) {
  QdqModel qdq(73);
  const Quantisation from{ElementType::kInt8, 2.0f, 1}, to{ElementType::kInt8, 0.5f, -3};
  const IntegerWeightsText weights{.type = ElementType::kInt8,
                                   .shape = {2, 1, 1, 1},
                                   .values = {1, -2},
                                   .bias = {-11, 100},
                                   .scales = {0.75f}};
  qdq.model().Input("x", {1, 1, 16, 16}, QdqModel::TypeNumber(ElementType::kInt8));
  qdq.model().Output(qdq.IntegerProduct("QLinearConv", "x", from, weights, to));
  ExpectAllInIntegers(qdq);
  EXPECT_EQ(Compare(qdq).different, 0);
}

TEST(IntegerOperatorsTest, APlanSaysWhyAnOperatorIsNoLayer) {
  const Quantisation grid{ElementType::kUint8, 0.05f, 3};
  const auto why = [&](const Shape& input, const IntegerWeightsText& weights,
                       const std::function<void(onnx::NodeProto&, QdqModel&)>& change = {}) {
    QdqModel qdq(79);
    const std::string operation = weights.shape.size() == 4 ? "QLinearConv" : "QLinearMatMul";
    qdq.model().Input("x", input, QdqModel::TypeNumber(grid.type));
    qdq.model().Output(qdq.IntegerProduct(operation, "x", grid, weights, grid));
    if (change) change(*qdq.model().graph().mutable_node(0), qdq);
    // What no layer stands for gives what the operator gives.
    const Compared compared = Compare(qdq);
    EXPECT_GT(compared.elements, 0);
    EXPECT_EQ(compared.different, 0);
    return WhyOf(qdq, operation);
  };
  const IntegerWeightsText matrix{
      .type = ElementType::kUint8, .shape = {2, 2}, .values = {0, 1, 2, 3}, .zeros = {0}, .scales = {0.1f}};
  EXPECT_EQ(why({3, 2}, matrix), "computed in integers");
  IntegerWeightsText wide = matrix;
  wide.values = {0, 255, 2, 3};
  wide.zeros = {114};
  EXPECT_THAT(why({3, 2}, wide), HasSubstr("less their zero points are not all from -128 to 127"));
  IntegerWeightsText batch = matrix;
  batch.shape = {1, 2, 2};
  EXPECT_THAT(why({1, 3, 2}, batch), HasSubstr("only products of two matrices"));
  EXPECT_THAT(why({3, 2}, matrix,
                  [](onnx::NodeProto& node, QdqModel& qdq) {
                    qdq.model().Floats("rows", {3}, {0.1f, 0.2f, 0.3f});
                    node.set_input(1, "rows");
                  }),
              HasSubstr("a scale for each channel"));
  EXPECT_THAT(why({3, 2}, matrix,
                  [](onnx::NodeProto& node, QdqModel& qdq) {
                    qdq.model().Small("rows", {3}, {1, 2, 3}, onnx::TensorProto::UINT8);
                    node.set_input(2, "rows");
                  }),
              HasSubstr("a zero point for each channel"));
  EXPECT_THAT(why({2, 2}, matrix, [](onnx::NodeProto& node, QdqModel&) { node.set_input(3, "x"); }),
              HasSubstr("the weights are not constant"));
  IntegerWeightsText heavy{.type = ElementType::kInt8,
                           .shape = {1, 1, 1, 1},
                           .values = {5},
                           .bias = {std::numeric_limits<std::int32_t>::min()}};
  EXPECT_THAT(why({1, 1, 3, 3}, heavy), HasSubstr("a bias is too large"));
}

// The same integers under two scales are two tensors: one of the operators stays what it is.
TEST(IntegerOperatorsTest, IntegersHaveOneScale) {
  QdqModel qdq(83);
  const Quantisation one{ElementType::kInt8, 0.05f, 3}, other{ElementType::kInt8, 0.06f, 3};
  const IntegerWeightsText weights{.type = ElementType::kInt8, .shape = {4, 4}, .values = std::vector(16, 9)};
  qdq.model().Input("x", {3, 4}, QdqModel::TypeNumber(one.type));
  qdq.model().Output(qdq.IntegerProduct("QLinearMatMul", "x", one, weights, one));
  qdq.model().Output(qdq.IntegerProduct("QLinearMatMul", "x", other, weights, one));
  EXPECT_THAT(WhyOf(qdq, "QLinearMatMul"), HasSubstr("read with two scales"));
  EXPECT_GT(Compare(qdq).elements, 0);
}

class HostileOperatorTest : public ::testing::TestWithParam<const char*> {
 protected:
  HostileOperatorTest() {
    const bool convolution = std::string(GetParam()) == "QLinearConv";
    const Quantisation grid{ElementType::kUint8, 0.05f, 3};
    const Shape shape = convolution ? Shape{2, 2, 1, 1} : Shape{2, 2};
    qdq_.model().Input("x", convolution ? Shape{1, 2, 3, 3} : Shape{3, 2}, QdqModel::TypeNumber(grid.type));
    qdq_.model().Output(qdq_.IntegerProduct(
        GetParam(), "x", grid, {.type = grid.type, .shape = shape, .values = {1, 2, 3, 4}}, grid));
    node().set_name("product");
  }

  onnx::NodeProto& node() { return *qdq_.model().graph().mutable_node(0); }
  onnx::TensorProto& TensorAt(int input) {
    for (onnx::TensorProto& tensor : *qdq_.model().graph().mutable_initializer()) {
      if (tensor.name() == node().input(input)) return tensor;
    }
    ADD_FAILURE() << "input " << input << " is no constant";
    return *qdq_.model().graph().mutable_initializer(0);
  }
  // In any arithmetic.
  void ExpectRefusal(const std::string& field, const std::string& reason) {
    for (const Arithmetic arithmetic : {Arithmetic::kIntegers, Arithmetic::kAsWritten}) {
      const auto session = Session::Load(qdq_.model().Bytes(), {.arithmetic = arithmetic});
      EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(session.status().message()),
                  AllOf(HasSubstr("node \"product\" (" + std::string(GetParam()) + ")"), HasSubstr(field),
                        HasSubstr(reason)));
    }
  }
  bool convolution() const { return std::string(GetParam()) == "QLinearConv"; }
  std::string Field(const std::string& of_convolution, const std::string& of_matrix) const {
    return "(" + (convolution() ? of_convolution : of_matrix) + ")";
  }

  QdqModel qdq_{89};
};

TEST_P(HostileOperatorTest, ScalesAreAboveZeroAndFinite) {
  const std::vector<std::pair<int, std::string>> fields = {
      {1, Field("x_scale", "a_scale")}, {4, Field("w_scale", "b_scale")}, {6, "(y_scale)"}};
  for (const auto& [input, field] : fields) {
    const float good = TensorAt(input).float_data(0);
    for (const float scale : {0.0f, -1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
      TensorAt(input).set_float_data(0, scale);
      ExpectRefusal("input " + std::to_string(input) + " " + field, "must be above 0 and finite");
    }
    TensorAt(input).set_float_data(0, good);
  }
}

// Known only in the run.
TEST_P(HostileOperatorTest, AScaleThatIsAnInputIsCheckedInTheRun) {
  qdq_.model().Input("scale", {});
  node().set_input(6, "scale");
  const auto session = Session::Load(qdq_.model().Bytes());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(WhyOf(qdq_, GetParam()), HasSubstr("a scale or zero point is not constant"));
  const Array x((*session)->inputs()[0].spec), scale({ElementType::kFloat32, {}});
  const View views[] = {x.view(), scale.view()};
  const absl::Status status = (*session)->Run(views);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("product"), HasSubstr("(y_scale): a scale is 0")));
}

TEST_P(HostileOperatorTest, InputsAreThereAndHaveTheirTypes) {
  const onnx::NodeProto good = node();
  for (const auto& [input, field] : std::vector<std::pair<int, std::string>>{
           {1, Field("x_scale", "a_scale")}, {3, Field("w", "b")}, {6, "(y_scale)"}}) {
    node().set_input(input, "");
    ExpectRefusal("input " + std::to_string(input) + " " + field, "is missing");
    node() = good;
  }
  node().mutable_input()->RemoveLast();
  ExpectRefusal("7 inputs", "8");
  node() = good;
  TensorAt(5).set_data_type(onnx::TensorProto::INT8);  // the weights are uint8
  ExpectRefusal("input 5 " + Field("w_zero_point", "b_zero_point"), "only uint8 is taken");
  TensorAt(5).set_data_type(onnx::TensorProto::UINT8);
  TensorAt(7).set_data_type(onnx::TensorProto::INT32);
  ExpectRefusal("input 7 (y_zero_point)", "must be int8 or uint8");
}

TEST_P(HostileOperatorTest, ShapesFit) {
  TensorAt(4).set_dims(0, 3);
  TensorAt(4).mutable_float_data()->Resize(3, 0.1f);
  ExpectRefusal("input 4 " + Field("w_scale", "b_scale"), "one element or 2 are expected");
  TensorAt(4).set_dims(0, 1);
  TensorAt(4).mutable_float_data()->Truncate(1);
  TensorAt(6).add_dims(2);
  TensorAt(6).mutable_float_data()->Resize(2, 0.1f);
  ExpectRefusal("input 6 (y_scale)", "one element or 1 are expected");
  TensorAt(6).clear_dims();
  TensorAt(6).mutable_float_data()->Truncate(1);
  if (!convolution()) return;
  qdq_.model().Small("bias", {3}, {1, 2, 3}, onnx::TensorProto::INT32);
  node().add_input("bias");
  ExpectRefusal("input 8 (B)", "2 elements are expected");
}

INSTANTIATE_TEST_SUITE_P(Operators, HostileOperatorTest, ::testing::Values("QLinearConv", "QLinearMatMul"));

}  // namespace
}  // namespace tributary::graph
