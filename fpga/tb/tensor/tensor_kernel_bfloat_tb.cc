// The tensor kernel with 16 lanes and bfloat16 against the golden model.
#include "Vtensor_kernel_bfloat.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorKernelBfloatTest : public testing::Test {
 protected:
  TensorBench<Vtensor_kernel_bfloat> bench_{{.bfloat16 = true}};
};

TEST_F(TensorKernelBfloatTest, MatchesTheGoldenModelUnderRandomPrograms) {
  ExpectRandomProgramsMatch(bench_, 12);
}

TEST_F(TensorKernelBfloatTest, MatchesTheGoldenModelInBfloat16) {
  ExpectFloatProgramsMatch<std::uint16_t>(bench_, 12);
}

}  // namespace
}  // namespace tributary::fpga
