// Convolutions and products of floats on the tensor unit's golden model.
#include "node/accelerator/tensor_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/onnx_fixture.h"
#include "core/graph/session.h"
#include "core/nn/kernel/random_stream.h"
#include "node/accelerator/tensor_target.h"

namespace tributary::accelerator {
namespace {

using graph::NodeReport;
using graph::Session;
using graph::testing::ModelText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<std::int64_t>;

// Small, so that small images already need strips.
constexpr fpga::TensorUnitSize kSmallFloatUnit = {.lanes = 8, .activations = 1 << 10, .pixels = 32};

std::size_t ElementsIn(const Numbers& shape) {
  std::size_t product = 1;
  for (const std::int64_t side : shape) product *= static_cast<std::size_t>(side);
  return product;
}

class TensorFloatLayerTest : public ::testing::Test {
 protected:
  // Whole numbers, of which every sum is exact in bfloat16 and float32 alike, or any others.
  std::vector<float> Values(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      const double drawn = random_.Uniform(-20, 20);
      value = static_cast<float>(whole_ ? std::round(drawn) : drawn);
    }
    return values;
  }

  ModelText Convolution(const Numbers& image, const Numbers& weights, bool bias = true) {
    ModelText model;
    model.Input("x", image).Floats("w", weights, Values(ElementsIn(weights)));
    if (bias) model.Floats("b", {weights[0]}, Values(static_cast<std::size_t>(weights[0])));
    model.Node("Conv", bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"},
               "y");
    model.Output("y");
    return model;
  }

  std::unique_ptr<Session> Loaded(const std::string& file, const graph::SectionTarget* target) {
    auto session = Session::Load(file, {.accelerator = target});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // The unit's results beside the processor's, and by how much they may differ.
  void ExpectLikeTheProcessor(const ModelText& model, double bfloat16_slack = 0, double float32_slack = 0) {
    ExpectLikeTheProcessorOn(target_, model, bfloat16_slack);
    ExpectLikeTheProcessorOn(TensorModelTarget(kSmallFloatUnit, FloatLayers::kFloat32), model, float32_slack);
  }
  void ExpectLikeTheProcessorOn(const TensorModelTarget& target, const ModelText& model, double slack) {
    SCOPED_TRACE(target.float_arithmetic());
    const std::string file = model.Bytes();
    const auto unit = Loaded(file, &target), processor = Loaded(file, nullptr);
    ASSERT_TRUE(unit != nullptr && processor != nullptr);
    const graph::AcceleratorReport& report = unit->accelerator();
    EXPECT_EQ(report.products, report.all_products);
    EXPECT_GT(report.products, 0);
    graph::Array input(unit->inputs()[0].spec);
    std::ranges::copy(Values(input.As<float>().size()), input.As<float>().begin());
    const graph::View views[] = {input.view()};
    ASSERT_TRUE(unit->Run(views).ok() && processor->Run(views).ok());
    EXPECT_GE(report.counted_cycles, report.cycles);
    EXPECT_LT(report.counted_cycles, report.cycles + 64 * 4)
        << "as planned, but for the begin and end of each run";
    const auto found = unit->output(0).As<const float>(), expected = processor->output(0).As<const float>();
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(double{found[i]} - double{expected[i]}));
    }
    EXPECT_LE(largest, slack);
    EXPECT_EQ(largest > 0, slack > 0);
  }

  // What the plan says of the model's only node.
  NodeReport PlanOf(const ModelText& model) {
    const auto session = Loaded(model.Bytes(), &target_);
    return session == nullptr ? NodeReport{} : session->nodes().at(0);
  }

  nn::RandomStream random_{11};
  bool whole_ = true;
  TensorModelTarget target_{kSmallFloatUnit, FloatLayers::kBfloat16};
};

TEST_F(TensorFloatLayerTest, ConvolutionsOfAllShapesAreExactInWholeNumbers) {
  ExpectLikeTheProcessor(Convolution({1, 3, 5, 5}, {4, 3, 3, 3}));
  ExpectLikeTheProcessor(Convolution({2, 1, 4, 7}, {1, 1, 1, 1}, false));
  ModelText strips = Convolution({3, 5, 10, 9}, {7, 5, 3, 3});
  strips.With("pads", {1, 1, 1, 1});
  ExpectLikeTheProcessor(strips);
  ModelText strides = Convolution({1, 9, 11, 8}, {6, 9, 5, 2});
  strides.With("strides", {3, 2}).With("pads", {2, 0, 1, 1});
  ExpectLikeTheProcessor(strides);
  ModelText line = Convolution({1, 6, 20}, {5, 6, 4});
  line.With("pads", {0, 3});
  ExpectLikeTheProcessor(line);
}

TEST_F(TensorFloatLayerTest, ProductsAreConvolutionsOfOnePixel) {
  ModelText gemm;
  gemm.Input("x", {3, 10}).Floats("w", {7, 10}, Values(70)).Floats("c", {1, 7}, Values(7));
  gemm.Node("Gemm", {"x", "w", "c"}, "y", {{"transB", 1}}).Output("y");
  ExpectLikeTheProcessor(gemm);
  ModelText one_bias;
  one_bias.Input("x", {1, 4}).Floats("w", {4, 9}, Values(36)).Floats("c", {1}, Values(1));
  one_bias.Node("Gemm", {"x", "w", "c"}, "y").Output("y");
  ExpectLikeTheProcessor(one_bias);
  ModelText matmul;
  matmul.Input("x", {2, 33}).Floats("w", {33, 5}, Values(165)).Node("MatMul", {"x", "w"}, "y").Output("y");
  ExpectLikeTheProcessor(matmul);
  ModelText rows;
  rows.Input("x", {2, 3, 6}).Floats("w", {6, 5}, Values(30)).Node("MatMul", {"x", "w"}, "y").Output("y");
  ExpectLikeTheProcessor(rows);
  // More rows than the unit accumulators: three images, the last of which has fewer pixels.
  ModelText many;
  many.Input("x", {65, 20}).Floats("w", {20, 5}, Values(100)).Node("MatMul", {"x", "w"}, "y").Output("y");
  ExpectLikeTheProcessor(many);
  ModelText strided = Convolution({5, 3, 1, 1}, {4, 3, 1, 1});
  strided.With("strides", {2, 3});
  ExpectLikeTheProcessor(strided);
  // Neither gaps nor steps matter to one pixel.
  ModelText idle = Convolution({2, 1536, 1, 1}, {3, 1536, 1, 1});
  idle.With("dilations", {2, 2}).With("strides", {9, 9});
  ExpectLikeTheProcessor(idle);
  // More inputs than the 1,024 channels of the unit: 5 pixels of 307.
  ModelText wide;
  wide.Input("x", {2, 1535}).Floats("w", {1535, 3}, Values(4605)).Node("MatMul", {"x", "w"}, "y").Output("y");
  ExpectLikeTheProcessor(wide);
}

TEST_F(TensorFloatLayerTest, RowsOfAProductPassByTheWeightsTogether) {
  const auto cycles = [&](std::int64_t rows) {
    ModelText model;
    model.Input("x", {rows, 64}).Floats("w", {64, 64}, Values(64 * 64));
    return PlanOf(model.Node("MatMul", {"x", "w"}, "y").Output("y")).cycles;
  };
  EXPECT_LT(cycles(32), 8 * cycles(1));
  // With more inputs than the unit has channels, too.
  const auto wide = [&](std::int64_t rows) {
    ModelText model;
    model.Input("x", {rows, 1536}).Floats("w", {1536, 4}, Values(1536 * 4));
    return PlanOf(model.Node("MatMul", {"x", "w"}, "y").Output("y")).cycles;
  };
  EXPECT_LT(wide(32), 20 * wide(1)) << "two rows at a time are all that its memory holds";
}

TEST_F(TensorFloatLayerTest, AWindowOfOneTapHasNoGaps) {
  ModelText model = Convolution({1, 3, 5, 5}, {4, 3, 1, 3});
  model.With("dilations", {2, 1});
  ExpectLikeTheProcessor(model);
}

TEST_F(TensorFloatLayerTest, LayersLeaveMemoryForResults) {
  ModelText model;
  model.Input("x", {600, 40}).Floats("v", {40, 40}, Values(1600)).Floats("w", {40, 40}, Values(1600));
  model.Node("MatMul", {"x", "v"}, "a").Node("MatMul", {"a", "w"}, "y").Output("y");
  const std::string file = model.Bytes();
  const auto needed = [&](const graph::SectionTarget* target) {
    return (*Session::Load(file, {.accelerator = target}))->memory_bytes();
  };
  // Between what the processor and what the unit needs, each limit suffices.
  for (std::uint64_t bytes = needed(nullptr); bytes < needed(&target_); bytes += 4096) {
    const auto session = Session::Load(file, {.memory_bytes = bytes, .accelerator = &target_});
    EXPECT_TRUE(session.ok()) << session.status();
  }
}

TEST_F(TensorFloatLayerTest, FactorsThatLeaveTheRangeOfFloat32StayOnTheProcessor) {
  const auto why = [&](const char* factor, float value, std::vector<float> bias) {
    ModelText model;
    model.Input("x", {1, 2}).Floats("w", {2, 1}, {1, 3}).Floats("c", {1}, std::move(bias));
    model.Node("Gemm", {"x", "w", "c"}, "y").WithReal(factor, value).Output("y");
    return PlanOf(model).why;
  };
  EXPECT_EQ(why("alpha", 0.5f, {1}), "");
  EXPECT_EQ(why("alpha", 0, {1}), "");
  EXPECT_EQ(why("alpha", 2e38f, {1}), "a factor of 2e+38 takes 3 out of the range of float32");
  EXPECT_EQ(why("alpha", 1e-38f, {1}), "a factor of 1e-38 takes 1 out of the range of float32");
  EXPECT_EQ(why("beta", 1e30f, {-1e10f}), "a factor of 1e+30 takes -10000000000 out of the range of float32");
  EXPECT_EQ(why("beta", 1e30f, {INFINITY}), "");
}

TEST_F(TensorFloatLayerTest, Bfloat16RoundsOperandsAndFloat32SumsOnly) {
  whole_ = false;
  // Sums of 5 · 9 products of 20 · 20: in bfloat16 each operand is off by 2^-9 of its size at most; in
  // float32 both sides add less than 45 roundings.
  constexpr double kAll = 5 * 9 * 400;
  ExpectLikeTheProcessor(Convolution({1, 5, 8, 8}, {6, 5, 3, 3}), kAll / 256, 2 * 45 * kAll / (1 << 24));
}

TEST_F(TensorFloatLayerTest, ThePlanSaysWhatRunsThereAndWhyOthersDoNot) {
  const NodeReport there = PlanOf(Convolution({1, 3, 5, 5}, {4, 3, 3, 3}));
  EXPECT_EQ(there.runs_on, "tensor unit (model)");
  EXPECT_EQ(there.arithmetic, "bfloat16");
  EXPECT_GT(there.cycles, 0u);
  EXPECT_EQ(there.why, "");

  const auto why = [&](const ModelText& model) {
    const NodeReport report = PlanOf(model);
    EXPECT_EQ(report.runs_on, "processor");
    EXPECT_EQ(report.arithmetic, "float32");
    return report.why;
  };
  ModelText groups;
  groups.Input("x", {1, 4, 5, 5})
      .Floats("w", {4, 1, 3, 3}, Values(36))
      .Node("Conv", {"x", "w"}, "y", {{"group", 4}});
  EXPECT_EQ(why(groups.Output("y")), "its channels are in groups");
  ModelText gaps = Convolution({1, 2, 9, 9}, {2, 2, 3, 3});
  EXPECT_EQ(why(gaps.With("dilations", {2, 2})), "its window has gaps");
  ModelText steps = Convolution({1, 1, 20, 20}, {1, 1, 3, 3});
  EXPECT_EQ(why(steps.With("strides", {9, 1})), "its stride is 9");
  EXPECT_EQ(why(Convolution({1, 1, 1, 40}, {1, 1, 1, 1})),
            "a row of its result has more pixels than the unit accumulators");
  EXPECT_EQ(why(Convolution({1, 4, 32, 32}, {1, 4, 1, 1})),
            "an image and its result have 3072 vectors; the activation memory 1024");
  EXPECT_EQ(why(Convolution({1, 1031, 1, 1}, {1, 1031, 1, 1})), "1031 channels; at most 1024");
  ModelText two;
  two.Input("x", {2, 3}).Input("w", {3, 2}).Node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(why(two.Output("y")), "the weights are not constant");
  ModelText turned;
  turned.Input("x", {3, 2}).Floats("w", {3, 2}, Values(6)).Node("Gemm", {"x", "w"}, "y", {{"transA", 1}});
  EXPECT_EQ(why(turned.Output("y")), "A is transposed");
  ModelText of_elements;
  of_elements.Input("x", {2, 3}).Floats("w", {3, 2}, Values(6)).Floats("c", {2, 2}, Values(4));
  EXPECT_EQ(why(of_elements.Node("Gemm", {"x", "w", "c"}, "y").Output("y")),
            "the bias is not one of channels");
  ModelText row;
  row.Input("x", {3}).Floats("w", {3, 2}, Values(6)).Node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(why(row.Output("y")), "it is no product of matrices");
  ModelText volume = Convolution({1, 1, 3, 3, 3}, {1, 1, 2, 2, 2});
  EXPECT_EQ(why(volume), "the window has three dimensions");
  EXPECT_EQ(why(Convolution({0, 1, 3, 3}, {1, 1, 2, 2})), "it has no element");
}

TEST_F(TensorFloatLayerTest, AProgramThatTheMemoryHasNoRoomForStaysOnTheProcessor) {
  const std::string file = Convolution({1, 60, 2, 2}, {60, 60, 2, 2}).Bytes();
  const std::uint64_t enough = Loaded(file, &target_)->memory_bytes();
  for (std::uint64_t bytes = enough + 64; bytes > enough / 2; bytes -= 4096) {
    const auto session = Session::Load(file, {.memory_bytes = bytes, .accelerator = &target_});
    if (!session.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(session.status())) << session.status();
      return;
    }
    EXPECT_LE((*session)->memory_bytes(), bytes);
    const NodeReport& node = (*session)->nodes()[0];
    if (node.runs_on == "processor") EXPECT_THAT(node.why, HasSubstr(" are left"));
  }
  ADD_FAILURE() << "half of the memory suffices";
}

TEST_F(TensorFloatLayerTest, OnlyAUnitThatIsAskedForFloatsTakesThem) {
  const std::string file = Convolution({1, 3, 5, 5}, {4, 3, 3, 3}).Bytes();
  const TensorModelTarget integers(kSmallFloatUnit);
  const auto session = Loaded(file, &integers);
  EXPECT_EQ(session->accelerator().nodes, 0);
  EXPECT_EQ(session->nodes()[0].why, "it is in floats, which are left to the processor");
  const auto as_written =
      Session::Load(file, {.arithmetic = graph::Arithmetic::kAsWritten, .accelerator = &target_});
  ASSERT_TRUE(as_written.ok());
  EXPECT_EQ((*as_written)->accelerator().nodes, 0) << "the reference";
  const auto strict = Session::Load(
      file, {.arithmetic = graph::Arithmetic::kAsWritten, .accelerator = &target_, .strict = true});
  EXPECT_TRUE(absl::IsFailedPrecondition(strict.status())) << strict.status();
}

TEST_F(TensorFloatLayerTest, TimesAndConstantsAreThoseOfTheOtherParts) {
  ModelText model;
  model.Input("x", {1, 3, 6, 6}).Floats("w", {4, 3, 3, 3}, Values(108)).Floats("v", {2, 4, 1, 1}, Values(8));
  model.Node("Conv", {"x", "w"}, "a").Node("Relu", {"a"}, "b").Node("Conv", {"b", "v"}, "y").Output("y");
  // The second one reads sums of 3 · 9 products of 20 · 20, rounded to 2^-9 of their size.
  ExpectLikeTheProcessor(model, 4 * 20 * 27 * 400.0 / 512);
  const auto session = Loaded(model.Bytes(), &target_);
  session->KeepTimes();
  ASSERT_EQ(session->parts().size(), 3u);
  EXPECT_THAT(session->parts()[0].nodes, ElementsAre(0u));
  EXPECT_THAT(session->parts()[2].nodes, ElementsAre(2u));
  const auto strict = Session::Load(model.Bytes(), {.accelerator = &target_, .strict = true});
  EXPECT_TRUE(absl::IsFailedPrecondition(strict.status())) << strict.status();
  EXPECT_THAT(std::string(strict.status().message()), HasSubstr("(Relu) does not run on the tensor unit"));
}

}  // namespace
}  // namespace tributary::accelerator
