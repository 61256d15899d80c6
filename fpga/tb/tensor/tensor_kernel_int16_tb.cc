// The tensor kernel with 16 lanes and int16 against the golden model.
#include "Vtensor_kernel_int16.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorKernelInt16Test : public testing::Test {
 protected:
  TensorBench<Vtensor_kernel_int16> bench_{{.int16 = true}};
};

TEST_F(TensorKernelInt16Test, MatchesTheGoldenModelUnderRandomPrograms) {
  ExpectRandomProgramsMatch(bench_, 12);
}

TEST_F(TensorKernelInt16Test, MatchesTheGoldenModelInInt16) { ExpectInt16ProgramsMatch(bench_, 12); }

}  // namespace
}  // namespace tributary::fpga
