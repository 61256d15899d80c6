// The tensor kernel with 16 lanes and int32 against the golden model.
#include "Vtensor_kernel_int32.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorKernelInt32Test : public testing::Test {
 protected:
  TensorBench<Vtensor_kernel_int32> bench_{{.int32 = true}};
};

TEST_F(TensorKernelInt32Test, MatchesTheGoldenModelUnderRandomPrograms) {
  ExpectRandomProgramsMatch(bench_, 12);
}

TEST_F(TensorKernelInt32Test, MatchesTheGoldenModelInInt32) { ExpectInt32ProgramsMatch(bench_, 12); }

}  // namespace
}  // namespace tributary::fpga
