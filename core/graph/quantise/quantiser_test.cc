#include "core/graph/quantise/quantiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/graph/onnx_fixture.h"
#include "core/graph/quantise/model_edit.h"
#include "core/graph/quantise/outlier_channels.h"
#include "core/graph/session.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelText;

std::vector<float> Normals(std::size_t count, double deviation, nn::RandomStream& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(deviation * random.Normal());
  return values;
}

// A convolution with batch norm, a residual, a pool and a product: what classifiers consist of.
ModelText SmallClassifier(std::uint64_t seed) {
  nn::RandomStream random(seed);
  std::vector<float> variance(8);
  for (float& value : variance) value = static_cast<float>(random.Uniform(0.5, 2));
  return ModelText()
      .Input("x", {-1, 3, 8, 8})
      .Floats("w1", {8, 3, 3, 3}, Normals(216, 0.3, random))
      .Floats("gamma", {8}, Normals(8, 1, random))
      .Floats("beta", {8}, Normals(8, 0.2, random))
      .Floats("mean", {8}, Normals(8, 0.2, random))
      .Floats("variance", {8}, variance)
      .Floats("w2", {8, 8, 3, 3}, Normals(576, 0.15, random))
      .Floats("b2", {8}, Normals(8, 0.2, random))
      .Floats("w3", {5, 8}, Normals(40, 0.4, random))
      .Floats("b3", {5}, Normals(5, 0.2, random))
      .Node("Conv", {"x", "w1"}, "c1")
      .With("pads", {1, 1, 1, 1})
      .Node("BatchNormalization", {"c1", "gamma", "beta", "mean", "variance"}, "n1")
      .Node("Relu", {"n1"}, "r1")
      .Node("Conv", {"r1", "w2", "b2"}, "c2")
      .With("pads", {1, 1, 1, 1})
      .Node("Add", {"c2", "r1"}, "a2")
      .Node("Relu", {"a2"}, "r2")
      .Node("GlobalAveragePool", {"r2"}, "p")
      .Node("Flatten", {"p"}, "f")
      .Node("Gemm", {"f", "w3", "b3"}, "logits", {{"transB", 1}})
      .Node("Softmax", {"logits"}, "y")
      .Output("y")
      .Output("logits");
}

Array Images(std::int64_t count, std::uint64_t seed) {
  nn::RandomStream random(seed);
  Array array({ElementType::kFloat32, {count, 3, 8, 8}});
  for (float& value : array.As<float>()) value = static_cast<float>(random.Normal());
  return array;
}

QuantiserReport Quantised(const ModelText& model, const QuantiserOptions& options = {}) {
  const auto report = Quantise(model.Bytes(), {{"x", Images(20, 3)}}, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : QuantiserReport();
}

std::string Fault(const ModelText& model, const std::map<std::string, Array>& examples) {
  return std::string(Quantise(model.Bytes(), examples, {}).status().message());
}

TEST(QuantiserTest, AClassifierBecomesLayersOfIntegers) {
  for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
    const QuantiserReport report = Quantised(SmallClassifier(1), {.activations = type});
    EXPECT_EQ(report.examples, 20u);
    EXPECT_EQ(report.folded_batch_norms, 1);
    EXPECT_THAT(report.left_in_floats, ElementsAre("node \"y\" (Softmax)"));
    std::vector<std::string> names;
    for (const QuantisedValue& value : report.values) {
      names.push_back(value.name);
      EXPECT_GT(value.relative_error, 0) << value.name;
      EXPECT_LT(value.relative_error, 0.05) << value.name;
      EXPECT_EQ(value.quantisation.type, type);
    }
    EXPECT_THAT(names, ElementsAre("x", "r1", "c2", "r2", "p", "f", "logits"));
    EXPECT_LT(report.outputs.at("logits"), 0.05);
    const auto session = Session::Load(report.file);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<std::string> floats;
    for (const NodeReport& node : (*session)->nodes()) {
      if (node.arithmetic != "int8") floats.push_back(node.operation);
    }
    EXPECT_THAT(floats, ElementsAre("QuantizeLinear", "DequantizeLinear", "Softmax"));
  }
}

// Each of 8 bits halves the error of 7: the errors of one more step than 256 would show here.
TEST(QuantiserTest, TheErrorOfAValueIsThatOfItsSteps) {
  const QuantiserReport report = Quantised(SmallClassifier(2));
  const QuantisedValue& x = report.values[0];
  ASSERT_EQ(x.name, "x");
  // Uniform rounding: scale / √12 against a deviation of 1.
  EXPECT_NEAR(x.relative_error, x.quantisation.scale / std::sqrt(12.0), 0.05 * x.relative_error);
}

TEST(QuantiserTest, FoldingKeepsWhatTheGraphGives) {
  const ModelText model = SmallClassifier(4);
  auto edit = ModelEdit::Open(model.Bytes(), {});
  ASSERT_TRUE(edit.ok());
  EXPECT_EQ(FoldBatchNorms(*edit), 1);
  const auto before = Session::Load(model.Bytes()), after = Session::Load(edit->Bytes());
  ASSERT_TRUE(before.ok() && after.ok()) << after.status();
  EXPECT_EQ((*after)->nodes().size() + 1, (*before)->nodes().size());
  const Array image = Images(1, 5);
  const View views[] = {image.view()};
  ASSERT_TRUE((*before)->Run(views).ok());
  ASSERT_TRUE((*after)->Run(views).ok());
  const auto expected = (*before)->output(1).As<float>(), found = (*after)->output(1).As<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
}

// One channel between two convolutions has weights that are fifty times those of the others.
TEST(QuantiserTest, SplitChannelsMakeStepsFiner) {
  nn::RandomStream random(21);
  std::vector<float> weights = Normals(8 * 8 * 9, 0.1, random);
  for (std::size_t o = 0; o < 8; ++o) {
    for (std::size_t t = 0; t < 9; ++t) weights[(o * 8 + 3) * 9 + t] *= 50;
  }
  std::vector<float> small = Normals(8 * 3 * 9, 0.3, random);
  for (std::size_t i = 0; i < 27; ++i) small[3 * 27 + i] /= 50;
  const ModelText model = ModelText()
                              .Input("x", {-1, 3, 8, 8})
                              .Floats("w1", {8, 3, 3, 3}, small)
                              .Floats("b1", {8}, Normals(8, 0.1, random))
                              .Floats("w2", {8, 8, 3, 3}, weights)
                              .Floats("w3", {4, 8, 1, 1}, Normals(32, 0.3, random))
                              .Node("Conv", {"x", "w1", "b1"}, "c1")
                              .Node("Relu", {"c1"}, "r1")
                              .Node("Conv", {"r1", "w2"}, "c2")
                              .Node("Conv", {"c2", "w3"}, "y")
                              .Output("y");
  auto edit = ModelEdit::Open(model.Bytes(), {});
  ASSERT_TRUE(edit.ok());
  EXPECT_EQ(SplitOutlierChannels(*edit, 0.25), 4);  // two of eight, twice
  const auto before = Session::Load(model.Bytes()), after = Session::Load(edit->Bytes());
  ASSERT_TRUE(before.ok() && after.ok()) << after.status();
  const Array image = Images(1, 5);
  const View views[] = {image.view()};
  ASSERT_TRUE((*before)->Run(views).ok());
  ASSERT_TRUE((*after)->Run(views).ok());
  const auto expected = (*before)->output(0).As<float>(), found = (*after)->output(0).As<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);

  const double plain = Quantised(model).outputs.at("y");
  const QuantiserReport split = Quantised(model, {.split_share = 0.25});
  EXPECT_EQ(split.split_channels, 4);
  EXPECT_LT(split.outputs.at("y"), 0.8 * plain);
}

// Examples with one far value: clipping it makes all others finer.
TEST(QuantiserTest, ClippingHelpsAgainstOutliers) {
  Array images = Images(200, 6);
  images.As<float>()[17] = 500;
  std::map<RangeRule, double> scales;
  for (const RangeRule rule : {RangeRule::kMinMax, RangeRule::kPercentile, RangeRule::kLeastSquares}) {
    const auto report =
        Quantise(SmallClassifier(1).Bytes(), {{"x", images}}, {.rule = rule, .percentile = 99.9});
    ASSERT_TRUE(report.ok()) << report.status();
    scales[rule] = report->values[0].quantisation.scale;
  }
  EXPECT_NEAR(scales[RangeRule::kMinMax], 504 / 255.0, 0.02);
  EXPECT_LT(scales[RangeRule::kPercentile], 0.05 * scales[RangeRule::kMinMax]);
  EXPECT_LT(scales[RangeRule::kLeastSquares], scales[RangeRule::kMinMax]);
}

TEST(QuantiserTest, ExamplesMustFit) {
  const ModelText model = SmallClassifier(1);
  EXPECT_THAT(Fault(model, {}), HasSubstr("examples for the input \"x\" are missing: float32 [1, 3, 8, 8]"));
  EXPECT_THAT(Fault(model, {{"x", Array({ElementType::kFloat32, {4, 3, 8, 7}})}}),
              HasSubstr("are float32 [4, 3, 8, 7]"));
  EXPECT_THAT(Fault(model, {{"x", Array({ElementType::kUint8, {4, 3, 8, 8}})}}), HasSubstr("are uint8"));
  EXPECT_THAT(Fault(model, {{"x", Images(1, 1)}, {"z", Images(1, 1)}}), HasSubstr("no input \"z\""));
  Array broken = Images(3, 1);
  broken.As<float>()[200] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Fault(model, {{"x", broken}}), HasSubstr("\"x\" is not finite on example 2"));
}

TEST(QuantiserTest, WeightsThatAreNotFiniteAreRefused) {
  std::vector<float> weights(27, 0.5f);
  weights[4] = std::numeric_limits<float>::infinity();
  ModelText model;
  model.Input("x", {1, 3, 8, 8}).Floats("w", {1, 3, 3, 3}, weights).Node("Conv", {"x", "w"}, "y").Output("y");
  EXPECT_NE(Fault(model, {{"x", Images(1, 1)}}), "");
}

TEST(QuantiserTest, AGraphWithoutProductsIsRefused) {
  const ModelText model = ModelText().Input("x", {1, 3, 8, 8}).Node("Relu", {"x"}, "y").Output("y");
  EXPECT_THAT(Fault(model, {{"x", Images(1, 1)}}), HasSubstr("nothing can be quantised"));
}

// Channels whose weights are all zero, and a bias far above its weights.
TEST(QuantiserTest, ExtremeChannelsKeepTheirBias) {
  ModelText model;
  model.Input("x", {1, 3, 8, 8})
      .Floats("w", {3, 3, 1, 1}, {0, 0, 0, 1e-20f, 0, 0, 0.5f, -0.25f, 0.125f})
      .Floats("b", {3}, {0.75f, -0.5f, 0.1f})
      .Node("Conv", {"x", "w", "b"}, "y")
      .Output("y");
  const QuantiserReport report = Quantised(model);
  EXPECT_LT(report.outputs.at("y"), 0.02);
}

// --- ranges ---

TEST(CalibrationTest, ZeroIsOnTheGrid) {
  for (const ElementType type : {ElementType::kUint8, ElementType::kInt8}) {
    for (const Range range : {Range{-1, 3}, Range{0, 2}, Range{-5, 0}, Range{0, 0}, Range{-1e-40, 1e-40}}) {
      const Quantisation quantisation = QuantisationFor(range, type);
      EXPECT_GT(quantisation.scale, 0);
      EXPECT_GE(quantisation.zero_point, quantisation.lowest());
      EXPECT_LE(quantisation.zero_point, quantisation.highest());
    }
  }
  const Quantisation all = QuantisationFor({-1, 3}, ElementType::kUint8);
  EXPECT_EQ(all.zero_point, 64);
  EXPECT_FLOAT_EQ(all.scale, 4.0f / 255);
}

TEST(CalibrationTest, LeastSquaresClipsWhatIsRare) {
  nn::RandomStream random(9);
  std::vector<float> values = Normals(1'000'000, 1, random);
  values[0] = 40;
  ValueStatistics statistics;
  statistics.AddEnds(values);
  statistics.Count(values);
  const Range range = statistics.RangeBy(RangeRule::kLeastSquares, 0);
  // To clip at T costs (40 − T)² / 10⁶ a value, steps up to T ((T + 4.8) / 255)² / 12: least at 14.8.
  EXPECT_NEAR(range.most, 14.8, 2);
}

}  // namespace
}  // namespace tributary::graph
