// The tensor kernel with 16 lanes, as it ships, against the golden model.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

#include "Vtensor_kernel.h"
#include "fpga/tb/tensor/random_programs.h"
#include "fpga/tb/tensor/tensor_networks.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr TensorUnitSize kSize = {};

class TensorKernelTest : public testing::Test {
 protected:
  TensorBench<Vtensor_kernel> bench_{kSize};
};

TEST_F(TensorKernelTest, MatchesTheGoldenModelUnderRandomPrograms) { ExpectRandomProgramsMatch(bench_, 5); }

TEST_F(TensorKernelTest, RefusesOtherPrecisions) {
  TensorCommand command = {.opcode = TensorOpcode::kConvolve,
                           .input_blocks = 1,
                           .output_blocks = 1,
                           .input_height = 1,
                           .input_width = 1,
                           .output_height = 1,
                           .output_width = 1,
                           .kernel_height = 1,
                           .kernel_width = 1,
                           .stride_y = 1,
                           .stride_x = 1};
  std::vector<std::uint64_t> program(kTensorCommandWords + 256);
  for (const TensorPrecision precision :
       {TensorPrecision::kInt8, TensorPrecision::kBfloat16, TensorPrecision::kInt16, TensorPrecision::kInt32,
        TensorPrecision::kFloat32}) {
    command.precision = precision;
    std::ranges::copy(EncodeTensorCommand(command), program.begin());
    EXPECT_EQ(bench_.Compare(program, {}, 0).status,
              precision == TensorPrecision::kInt8 ? TensorStatus::kOk : TensorStatus::kBadField);
  }
}

TEST_F(TensorKernelTest, NetworksAlternateAndTakeTheCyclesOfTheirShapes) {
  std::mt19937_64 random(7);
  const TensorNetwork networks[] = {ResNet20(kSize, 1), MobileNetV2(kSize, 2)};
  constexpr double kLeast[] = {0.70, 0.35};
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    const TensorNetwork& network = networks[i % 2];
    std::vector<std::uint64_t> input(network.input_words());
    for (std::uint64_t& word : input) word = random();
    const TensorRun run = bench_.Compare(network.words(), input, network.output_words());
    ASSERT_EQ(run.status, TensorStatus::kOk);
    const double lanes = kSize.lanes;
    const double used =
        static_cast<double>(network.products()) / (static_cast<double>(run.cycles) * lanes * lanes);
    std::cout << (i % 2 == 0 ? "ResNet-20" : "MobileNetV2") << ": " << network.products() << " products, "
              << run.cycles << " cycles, model " << bench_.golden_run.cycles << ", utilisation " << used
              << "\n";
    EXPECT_GE(used, kLeast[i % 2]);
    EXPECT_NEAR(static_cast<double>(run.cycles), static_cast<double>(bench_.golden_run.cycles),
                0.005 * static_cast<double>(run.cycles));
  }
}

}  // namespace
}  // namespace tributary::fpga
