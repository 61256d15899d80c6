// The tensor kernel under XRT: networks are programs in the device's memory, and one loaded xclbin runs them
// all.
#include <gtest/gtest.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/tensor_kernels.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_unit.h"
#include "fpga/tb/tensor/random_tensor_program.h"
#include "tests/support/own_folder.h"

namespace tributary::device {
namespace {

using Words = std::vector<std::uint64_t>;

// Two layers with a sum, of other shapes for each seed.
Words SmallNetwork(std::uint32_t seed, std::uint32_t channels, std::uint32_t side) {
  const fpga::TensorUnitSize size;
  std::mt19937 random(seed);
  fpga::TensorProgramBuilder program(size);
  const std::uint32_t pixels = side * side, vectors = fpga::TensorBlocks(channels, size) * pixels;
  program.Load(0, 0, vectors);
  const auto edge = static_cast<std::uint16_t>(side);
  fpga::TensorCommand command = {.input_plane = pixels,
                                 .input_height = edge,
                                 .input_width = edge,
                                 .origin_y = -1,
                                 .origin_x = -1,
                                 .output_height = edge,
                                 .output_width = edge,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .stride_y = 1,
                                 .stride_x = 1,
                                 .output_address = 4096,
                                 .output_plane = pixels,
                                 .residual_address = 0,
                                 .residual_plane = pixels};
  const std::vector<fpga::TensorChannel> scales(channels, *fpga::TensorChannelOf(0.0004));
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<std::int8_t> weights(std::size_t{9} * channels * channels);
    for (std::int8_t& weight : weights)
      weight = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
    EXPECT_TRUE(program.Convolve(command, channels, channels, weights, scales).ok());
    command.flags = fpga::kTensorResidual;
    command.input_address = 4096;
    command.output_address = 8192;
    EXPECT_TRUE(fpga::SetTensorSum(0.9, 0.6, command.output).ok());
  }
  program.Store(8192, 0, vectors);
  program.End();
  return program.words();
}

// A board with one kernel, which runs programs beside the golden model.
class TensorKernelXrtTest : public testing::Test {
 protected:
  void Load(const std::string& kernel) {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    const std::string path = OwnFolder() + kernel + ".xclbin";
    std::ofstream(path, std::ios::binary) << WriteXclbin({.kernels = {{kernel, 1}}}).value();
    kernel_ = {};
    device_ = {};  // a board has one xclbin at a time
    device_ = xrt::device(0);
    kernel_ = xrt::kernel(device_, device_.load_xclbin(path), kernel);
    golden_.emplace(fpga::TensorKernelSize(kernel));
  }

  xrt::bo Buffer(int argument, const Words& words) {
    constexpr std::size_t kPage = 4096;
    xrt::bo allocated(device_, 8 * words.size() / kPage * kPage + kPage, xrt::bo::flags::cacheable,
                      static_cast<xrt::memory_group>(kernel_.group_id(argument)));
    std::ranges::copy(words, allocated.map<std::uint64_t*>());
    allocated.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    return allocated;
  }

  // `loaded`: the program in the device's memory. As many words come back.
  void ExpectTheBitsOfTheGoldenModel(const Words& program, xrt::bo& loaded, const Words& input) {
    Words expected(input.size());
    ASSERT_EQ(golden_->Run(program, input, expected).status, fpga::TensorStatus::kOk);
    xrt::bo in = Buffer(fpga::kInputArgument, input);
    xrt::bo out = Buffer(fpga::kOutputArgument, Words(expected.size() + fpga::kTensorReportWords));
    const auto count = static_cast<std::uint32_t>(input.size());
    xrt::run run = kernel_(in, out, loaded, 1u, static_cast<std::uint32_t>(program.size()), count, count);
    ASSERT_EQ(run.wait(std::chrono::seconds(60)), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const auto* got = out.map<const std::uint64_t*>();
    const std::span<const std::uint64_t> all(got, expected.size() + fpga::kTensorReportWords);
    const auto report = fpga::ReadTensorReport(all.last<fpga::kTensorReportWords>());
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->status, fpga::TensorStatus::kOk);
    EXPECT_EQ(Words(got, got + expected.size()), expected);
  }

  xrt::device device_;
  xrt::kernel kernel_;
  std::optional<fpga::TensorUnit> golden_;
};

TEST_F(TensorKernelXrtTest, TwoNetworksAlternateOnOneXclbin) {
  Load("tensor_kernel");
  const Words programs[] = {SmallNetwork(1, 16, 10), SmallNetwork(2, 37, 7)};
  const std::size_t words[] = {2 * 100, 2 * 3 * 49};
  xrt::bo loaded[] = {Buffer(fpga::kParametersArgument, programs[0]),
                      Buffer(fpga::kParametersArgument, programs[1])};
  std::mt19937_64 random(3);
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    Words input(words[i % 2]);
    for (std::uint64_t& word : input) word = random();
    ExpectTheBitsOfTheGoldenModel(programs[i % 2], loaded[i % 2], input);
  }
}

// Every kernel computes its precisions command by command.
TEST_F(TensorKernelXrtTest, RandomProgramsOfAllPrecisionsHaveTheBitsOfTheGoldenModel) {
  for (const fpga::TensorKernel& kernel : fpga::kTensorKernels) {
    SCOPED_TRACE(kernel.name);
    Load(std::string(kernel.name));
    fpga::RandomTensorProgram random(kernel.size, 7);
    const Words program = random.Make(24);
    const fpga::RandomTensorProgram::Counts& counts = random.counts;
    EXPECT_GT(counts.convolve, 0u);
    EXPECT_EQ(counts.bfloat > 0, kernel.size.bfloat16);
    EXPECT_EQ(counts.int16 > 0, kernel.size.int16);
    EXPECT_EQ(counts.int32 > 0, kernel.size.int32);
    EXPECT_EQ(counts.float32 > 0, kernel.size.float32);
    Words input(std::size_t{kernel.size.activations} * kernel.size.vector_words());
    std::mt19937_64 values(5);
    for (std::uint64_t& word : input) word = values();
    xrt::bo loaded = Buffer(fpga::kParametersArgument, program);
    ExpectTheBitsOfTheGoldenModel(program, loaded, input);
  }
}

}  // namespace
}  // namespace tributary::device
