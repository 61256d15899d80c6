// The tensor kernel with 32 lanes against the golden model.
#include "Vtensor_wide.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

TEST(TensorWideTest, MatchesTheGoldenModelUnderRandomPrograms) {
  TensorBench<Vtensor_wide> bench({.lanes = 32, .activations = 4096, .bfloat16 = true});
  ExpectRandomProgramsMatch(bench, 8);
  ExpectBfloatProgramsMatch(bench, 8);
}

}  // namespace
}  // namespace tributary::fpga
