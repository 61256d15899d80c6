// The tensor kernel with 16 lanes and float32 against the golden model.
#include "Vtensor_kernel_float32.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorKernelFloat32Test : public testing::Test {
 protected:
  TensorBench<Vtensor_kernel_float32> bench_{{.float32 = true}};
};

TEST_F(TensorKernelFloat32Test, MatchesTheGoldenModelUnderRandomPrograms) {
  ExpectRandomProgramsMatch(bench_, 12);
}

TEST_F(TensorKernelFloat32Test, MatchesTheGoldenModelInFloat32) {
  ExpectFloatProgramsMatch<std::uint32_t>(bench_, 12);
}

}  // namespace
}  // namespace tributary::fpga
