// Graphs and their sections on the tensor unit of the software device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph_model.h"
#include "core/graph/onnx_fixture.h"
#include "core/graph/quantised/qdq_fixture.h"
#include "core/graph/session.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "node/accelerator/create.h"
#include "node/accelerator/tensor_target.h"
#include "node/accelerator/xrt_tensor.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

using testing::HasSubstr;

constexpr std::size_t kGraphBatch = 3;
constexpr std::size_t kImageSide = 5;

// A convolution, its sum with its input, an average and a product: floats [images, channels, 5, 5] to three
// logits.
std::string SmallClassifier(std::uint64_t seed, std::int64_t channels, std::int64_t images = 1) {
  graph::testing::QdqModel qdq(seed);
  const graph::Quantisation grid{graph::ElementType::kUint8, 0.02f, 100};
  qdq.model().Input("images", {images, channels, kImageSide, kImageSide});
  const std::string x = qdq.Through("images", grid);
  const std::string weights = qdq.Weights({channels, channels, 3, 3}, 0.004f, 0);
  const std::string y = qdq.Node("Conv", {x, weights});
  qdq.model().With("pads", {1, 1, 1, 1});
  const std::string sum = qdq.Through(qdq.Node("Add", {qdq.Through(qdq.Node("Relu", {y}), grid), x}), grid);
  const std::string mean = qdq.Through(qdq.Node("GlobalAveragePool", {sum}), grid);
  const std::string flat = qdq.Through(qdq.Node("Flatten", {mean}), grid);
  const std::string last = qdq.Weights({3, channels}, 0.02f, 0);
  qdq.model().Output(qdq.Through(qdq.Node("Gemm", {flat, last}, {{"transB", 1}}), grid));
  return qdq.model().Bytes();
}

graph::GraphModel ModelOf(const std::string& file) {
  auto model = graph::DecodeGraphModel(
      file, {.kind = graph::OutputKind::kLogits, .output = "", .classes = {"a", "b", "c"}});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<float> RandomImages(std::uint64_t seed, std::size_t count) {
  nn::RandomStream random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Uniform(-2, 3));
  return values;
}

class XrtGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = OwnFolder() + "xrt_graph_test.xclbin";
    WriteXclbinOf("tensor_kernel", 2);
    options_.reopen_interval = std::chrono::milliseconds(0);
    options_.run_timeout = std::chrono::milliseconds(30'000);  // a run takes some 10 ms
  }

  void WriteXclbinOf(const char* kernel, int units) const {
    std::ofstream(options_.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = {{kernel, units}}}).value();
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  std::unique_ptr<Accelerator> OnBoard() const {
    auto created = CreateXrtGraph(model_, kGraphBatch, options_);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *std::move(created) : nullptr;
  }

  absl::Status Infer(Accelerator& accelerator) { return accelerator.Infer(images_, kGraphBatch, logits_); }

  static std::unique_ptr<graph::Session> SessionOn(const std::string& file,
                                                   const graph::SectionTarget& target) {
    auto session = graph::Session::Load(file, {.accelerator = &target});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  static std::vector<float> LogitsOf(graph::Session& session, std::uint64_t seed) {
    graph::Array input(session.inputs()[0].spec);
    const std::span<float> values = input.As<float>();
    std::ranges::copy(RandomImages(seed, values.size()), values.begin());
    const graph::View views[] = {input.view()};
    const absl::Status status = session.Run(views);
    EXPECT_TRUE(status.ok()) << status;
    const auto logits = session.output(0).As<const float>();
    return {logits.begin(), logits.end()};
  }

  // As the golden model of the unit computes them.
  std::vector<float> Expected() const {
    auto session = graph::OpenSession(model_, &golden_);
    EXPECT_TRUE(session.ok()) << session.status();
    const std::size_t image = images_.size() / kGraphBatch;
    std::vector<float> logits;
    for (std::size_t i = 0; i < kGraphBatch; ++i) {
      graph::Array input((*session)->inputs()[0].spec);
      std::ranges::copy(std::span(images_).subspan(i * image, image), input.As<float>().begin());
      const graph::View views[] = {input.view()};
      EXPECT_TRUE((*session)->Run(views).ok());
      const auto given = (*session)->output(0).As<const float>();
      logits.insert(logits.end(), given.begin(), given.end());
    }
    return logits;
  }

  const TensorModelTarget golden_{fpga::TensorUnitSize()};
  const graph::GraphModel model_ = ModelOf(SmallClassifier(3, 4));
  const std::vector<float> images_ = RandomImages(7, kGraphBatch* model_.inputs);
  std::vector<float> logits_ = std::vector<float>(kGraphBatch * model_.outputs);
  XrtOptions options_;
};

TEST_F(XrtGraphTest, GivesTheBitsOfTheGoldenModelAndCountsWhatItDelegates) {
  const AcceleratorConfig config{.max_batch = kGraphBatch, .xrt = options_};
  auto board = CreateAccelerator(config, model_);
  ASSERT_TRUE(board.ok()) << board.status();
  ASSERT_TRUE(Infer(**board).ok());
  EXPECT_EQ(logits_, Expected());
  const Accelerator::Counters counters = (*board)->counters();
  EXPECT_EQ(counters.runs, kGraphBatch);
  EXPECT_GT(counters.cycles, 0u);
  // All but the ends in floats: one QuantizeLinear and one DequantizeLinear.
  EXPECT_EQ(counters.nodes - counters.delegated_nodes, 2 * kGraphBatch);
  EXPECT_GT(counters.products, 0u);
  EXPECT_EQ(counters.delegated_products, counters.products);
  EXPECT_THAT((*board)->description(), HasSubstr("100.0 % of the multiply-accumulates on the tensor unit"));
}

TEST_F(XrtGraphTest, TwoNetworksAlternateOnOneBoard) {
  auto unit = XrtTensorTarget::Open(GraphTensorKernels(FloatLayers::kProcessor), options_);
  ASSERT_TRUE(unit.ok()) << unit.status();
  const std::string files[] = {SmallClassifier(3, 4), SmallClassifier(5, 19)};
  std::unique_ptr<graph::Session> boards[2], golden[2];
  for (std::size_t i = 0; i < 2; ++i) {
    boards[i] = SessionOn(files[i], **unit);
    golden[i] = SessionOn(files[i], golden_);
    ASSERT_TRUE(boards[i] != nullptr && golden[i] != nullptr);
  }
  for (std::uint64_t run = 0; run < 6; ++run) {
    EXPECT_EQ(LogitsOf(*boards[run % 2], run), LogitsOf(*golden[run % 2], run)) << "run " << run;
    const graph::AcceleratorReport& report = boards[run % 2]->accelerator();
    EXPECT_GT(report.counted_cycles, report.cycles / 2);
    EXPECT_LT(report.counted_cycles, 2 * report.cycles);
  }
  EXPECT_EQ((*unit)->counters().runs, 6u);
}

TEST_F(XrtGraphTest, TheImagesOfABatchGoToTheUnitsInTurn) {
  const std::string file = SmallClassifier(3, 4, 5);
  const auto golden = SessionOn(file, golden_);
  for (const std::size_t units : {1, 2}) {
    options_.compute_units = units;
    auto unit = XrtTensorTarget::Open(GraphTensorKernels(FloatLayers::kProcessor), options_);
    ASSERT_TRUE(unit.ok()) << unit.status();
    const auto board = SessionOn(file, **unit);
    EXPECT_EQ(LogitsOf(*board, 1), LogitsOf(*golden, 1));
    EXPECT_EQ((*unit)->counters().runs, 5u);
  }
}

TEST_F(XrtGraphTest, ASessionThatEndsGivesItsBuffersBack) {
  Inject("memory_bytes=100000");
  auto unit = XrtTensorTarget::Open(GraphTensorKernels(FloatLayers::kProcessor), options_);
  ASSERT_TRUE(unit.ok()) << unit.status();
  for (int i = 0; i < 20; ++i) {
    const auto session = SessionOn(SmallClassifier(3, 4), **unit);
    ASSERT_GT(session->accelerator().nodes, 0) << "session " << i;
  }
  // A section that the board's memory has no room for is the processor's.
  std::vector<std::unique_ptr<graph::Session>> sessions;
  do {
    sessions.push_back(SessionOn(SmallClassifier(3, 4), **unit));
    ASSERT_LT(sessions.size(), 20u);
  } while (sessions.back()->accelerator().nodes > 0);
  EXPECT_GT(sessions.size(), 1u);
  EXPECT_EQ(LogitsOf(*sessions.front(), 1), LogitsOf(*SessionOn(SmallClassifier(3, 4), golden_), 1));
}

TEST_F(XrtGraphTest, AHungRunFailsTheBatchAndTheNextOneIsComputed) {
  Inject("hang=1");
  options_.run_timeout = std::chrono::milliseconds(1000);
  const auto board = OnBoard();
  ASSERT_NE(board, nullptr);
  const absl::Status hung = Infer(*board);
  EXPECT_TRUE(absl::IsDeadlineExceeded(hung)) << hung;
  EXPECT_THAT(std::string(hung.message()), HasSubstr("device 0"));
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  ASSERT_TRUE(Infer(*board).ok());
  EXPECT_EQ(logits_, Expected());
  EXPECT_EQ(board->counters().timeouts, 1u);
  EXPECT_EQ(board->counters().reopened, 1u);
}

TEST_F(XrtGraphTest, AFailedTransferNamesStatusAndCommandAndFailsTheBatchOnly) {
  Inject("read_error=1");
  const auto board = OnBoard();
  ASSERT_NE(board, nullptr);
  const absl::Status read = Infer(*board);
  EXPECT_TRUE(absl::IsInternal(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("status 5 (a failed read) at command "));
  ASSERT_TRUE(Infer(*board).ok());
  EXPECT_EQ(logits_, Expected());
  EXPECT_EQ(board->counters().failed_runs, 1u);
  EXPECT_EQ(board->counters().reopened, 0u);
}

TEST_F(XrtGraphTest, ADeviceThatDisappearsIsUnavailableUntilItIsBack) {
  Inject("disappear=2");
  const auto board = OnBoard();
  ASSERT_NE(board, nullptr);
  EXPECT_TRUE(absl::IsUnavailable(Infer(*board)));
  Inject("no_device");
  EXPECT_TRUE(absl::IsUnavailable(Infer(*board)));
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  ASSERT_TRUE(Infer(*board).ok());
  EXPECT_EQ(logits_, Expected());
}

TEST_F(XrtGraphTest, TheProcessorTakesOverWhereAllowed) {
  Inject("read_error=1");
  options_.fall_back_to_cpu = true;
  const auto fallback = OnBoard();
  ASSERT_NE(fallback, nullptr);
  ASSERT_TRUE(Infer(*fallback).ok());
  std::vector<float> on_cpu(logits_.size());
  auto cpu = CreateCpuGraph(model_, kGraphBatch);
  ASSERT_TRUE(cpu.ok() && (*cpu)->Infer(images_, kGraphBatch, on_cpu).ok());
  EXPECT_EQ(logits_, on_cpu);
  const Accelerator::Counters counters = fallback->counters();
  EXPECT_EQ(counters.fallbacks, 1u);
  EXPECT_EQ(counters.delegated_products, 0u);
  EXPECT_GT(counters.products, 0u);
  ASSERT_TRUE(Infer(*fallback).ok());
  EXPECT_EQ(logits_, Expected());
}

TEST_F(XrtGraphTest, AGraphWithNothingForTheUnitIsRefusedUnlessTheProcessorMayComputeIt) {
  graph::testing::ModelText floats;
  floats.Input("x", {1, 4}).Floats("w", {4, 3}, std::vector<float>(12, 0.5f)).Node("MatMul", {"x", "w"}, "y");
  floats.Output("y");
  const graph::GraphModel model = ModelOf(floats.Bytes());
  AcceleratorConfig config{.max_batch = kGraphBatch, .xrt = options_};
  for (const absl::Status& status :
       {CheckAccelerator(config, model), CreateXrtGraph(model, kGraphBatch, options_).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("nothing for the tensor unit"));
  }
  config.xrt->fall_back_to_cpu = true;
  const auto cpu = CreateAccelerator(config, model);
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ((*cpu)->description(), "cpu (ONNX)");
}

// Floats [1, 3, 5, 5] to three logits, not quantised.
std::string FloatClassifier() {
  graph::testing::ModelText model;
  model.Input("images", {1, 3, kImageSide, kImageSide});
  model.Floats("w", {6, 3, 3, 3}, RandomImages(21, 162)).Floats("v", {3, 6}, RandomImages(22, 18));
  model.Node("Conv", {"images", "w"}, "a").With("pads", {1, 1, 1, 1});
  model.Node("Relu", {"a"}, "b").Node("GlobalAveragePool", {"b"}, "c").Node("Flatten", {"c"}, "d");
  model.Node("Gemm", {"d", "v"}, "y", {{"transB", 1}}).Output("y");
  return model.Bytes();
}

TEST_F(XrtGraphTest, LayersInFloatsHaveTheBitsOfTheGoldenModel) {
  const graph::GraphModel model = ModelOf(FloatClassifier());
  const std::vector<float> images = RandomImages(7, kGraphBatch * model.inputs);
  const auto processor = SessionOn(model.file, golden_);
  struct Case {
    FloatLayers layers;
    const char* kernel;
    double error;  // relative to the processor's
  };
  for (const Case& each : {Case{FloatLayers::kBfloat16, "tensor_kernel_bfloat", 0.02},
                           Case{FloatLayers::kFloat32, "tensor_kernel_float32", 1e-5}}) {
    SCOPED_TRACE(each.kernel);
    WriteXclbinOf(each.kernel, 1);
    options_.float_layers = each.layers;
    const AcceleratorConfig config{.max_batch = kGraphBatch, .xrt = options_};
    const auto board = CreateAccelerator(config, model);
    ASSERT_TRUE(board.ok()) << board.status();
    EXPECT_THAT((*board)->description(),
                HasSubstr("2 of 5 nodes and 100.0 % of the multiply-accumulates on the tensor unit"));
    std::vector<float> logits(kGraphBatch * model.outputs);
    ASSERT_TRUE((*board)->Infer(images, kGraphBatch, logits).ok());
    EXPECT_GT((*board)->counters().cycles, 0u);
    const TensorModelTarget unit(fpga::TensorUnitSize(), each.layers);
    const auto golden = SessionOn(model.file, unit);
    for (std::size_t i = 0; i < kGraphBatch; ++i) {
      graph::Array image(golden->inputs()[0].spec);
      std::ranges::copy(std::span(images).subspan(i * model.inputs, model.inputs), image.As<float>().begin());
      const graph::View views[] = {image.view()};
      ASSERT_TRUE(golden->Run(views).ok() && processor->Run(views).ok());
      const auto expected = golden->output(0).As<const float>(),
                 floats = processor->output(0).As<const float>();
      for (std::size_t c = 0; c < model.outputs; ++c) {
        EXPECT_EQ(logits[i * model.outputs + c], expected[c]);
        EXPECT_NEAR(expected[c], floats[c], each.error * (std::abs(floats[c]) + 20));
      }
    }
  }
}

TEST_F(XrtGraphTest, AnXclbinWithoutThePrecisionIsRefused) {
  options_.float_layers = FloatLayers::kBfloat16;
  const absl::Status status =
      CheckAccelerator({.max_batch = kGraphBatch, .xrt = options_}, ModelOf(FloatClassifier()));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no compute unit of tensor_kernel_bfloat"));
}

TEST_F(XrtGraphTest, ChecksKernelAndUnitsBeforeTheStart) {
  AcceleratorConfig config{.max_batch = kGraphBatch, .xrt = options_};
  EXPECT_TRUE(CheckAccelerator(config, model_).ok());
  config.xrt->compute_units = 2;
  EXPECT_THAT(std::string(CheckAccelerator(config, model_).message()), HasSubstr("compute_units: "));
  config.xrt->compute_units = 1;
  WriteXclbinOf("fusion_kernel", 1);
  const absl::Status status = CheckAccelerator(config, model_);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no compute unit of tensor_kernel"));
}

}  // namespace
}  // namespace tributary::accelerator
